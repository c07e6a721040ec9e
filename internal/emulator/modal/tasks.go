// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func (c *control) SandboxGetTaskId(ctx context.Context, req *pb.SandboxGetTaskIdRequest) (*pb.SandboxGetTaskIdResponse, error) {
	return c.getTaskID(ctx, req)
}

func (c *control) SandboxGetTaskIdV2(ctx context.Context, req *pb.SandboxGetTaskIdRequest) (*pb.SandboxGetTaskIdResponse, error) {
	return c.getTaskID(ctx, req)
}

// getTaskID answers with the task of a running sandbox. Of an ended one it gives
// the result alone, which clients take for "shutting down", or the task to which
// there is no access any more, which they take for "gone".
func (s *Server) getTaskID(ctx context.Context, req *pb.SandboxGetTaskIdRequest) (*pb.SandboxGetTaskIdResponse, error) {
	w, unlock := s.lock(ctx)
	defer unlock()
	box, err := s.sandbox(w, req.GetSandboxId())
	if err != nil {
		return nil, err
	}
	if box.ended != nil && !s.opts.KeepTaskID {
		return pb.SandboxGetTaskIdResponse_builder{TaskResult: box.ended.result}.Build(), nil
	}
	return pb.SandboxGetTaskIdResponse_builder{TaskId: proto.String(box.taskID)}.Build(), nil
}

func (c *control) SandboxGetCommandRouterAccess(ctx context.Context, req *pb.SandboxGetCommandRouterAccessRequest) (*pb.SandboxGetCommandRouterAccessResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	if req.HasTaskId() {
		if err := c.reachable(w, c.tasks[req.GetTaskId()]); err != nil {
			return nil, err
		}
	} else if err := c.reachable(w, w.sandboxes[req.GetSandboxId()]); err != nil {
		return nil, err
	}
	jwt, url, err := c.access(ctx)
	if err != nil {
		return nil, err
	}
	return pb.SandboxGetCommandRouterAccessResponse_builder{Jwt: jwt, Url: url}.Build(), nil
}

func (c *control) TaskGetCommandRouterAccess(ctx context.Context, req *pb.TaskGetCommandRouterAccessRequest) (*pb.TaskGetCommandRouterAccessResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	if err := c.reachable(w, c.tasks[req.GetTaskId()]); err != nil {
		return nil, err
	}
	jwt, url, err := c.access(ctx)
	if err != nil {
		return nil, err
	}
	return pb.TaskGetCommandRouterAccessResponse_builder{Jwt: jwt, Url: url}.Build(), nil
}

// reachable is NOT_FOUND for a sandbox that has ended, from that moment on,
// whatever polls still say: what Airflow's liveness check relies on.
func (s *Server) reachable(w *workspace, box *sandbox) error {
	if box != nil && box.workspace == w {
		if s.settle(box); box.ended == nil {
			return nil
		}
	}
	return status.Error(codes.NotFound, "Task not found")
}

// access hands out the command router. Go refuses an http:// address but speaks
// plain text to an https:// one of this machine; Python, client type 1, would
// begin TLS there.
func (s *Server) access(ctx context.Context) (jwt, url string, err error) {
	scheme := s.opts.RouterScheme
	if scheme == "" {
		headers, _ := metadata.FromIncomingContext(ctx)
		scheme = "https"
		if header(headers, "x-modal-client-type") == "1" {
			scheme = "http"
		}
	}
	jwt, err = s.issueToken("router", s.opts.AccessLifetime)
	return jwt, scheme + "://" + s.address, err
}
