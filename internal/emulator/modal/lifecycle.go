// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// SandboxWait is the poll of the first generation; both share one handler, and
// any id may be asked for with either name.
func (c *control) SandboxWait(ctx context.Context, req *pb.SandboxWaitRequest) (*pb.SandboxWaitResponse, error) {
	return c.wait(ctx, req)
}

func (c *control) SandboxWaitV2(ctx context.Context, req *pb.SandboxWaitRequest) (*pb.SandboxWaitResponse, error) {
	return c.wait(ctx, req)
}

// wait answers when the sandbox's end can be seen or the request's timeout is
// over. While the sandbox runs the reply has no result, not even an empty one,
// which the clients would take for an end with exit code 0.
func (s *Server) wait(ctx context.Context, req *pb.SandboxWaitRequest) (*pb.SandboxWaitResponse, error) {
	timeout := time.NewTimer(time.Duration(float64(req.GetTimeout()) * float64(time.Second)))
	defer timeout.Stop()
	for {
		w, unlock := s.lock(ctx)
		box, err := s.sandbox(w, req.GetSandboxId())
		if err != nil {
			unlock()
			return nil, err
		}
		result, changed, next := s.visibleResult(box), s.changed, s.nextChange(box)
		unlock()
		reply := pb.SandboxWaitResponse_builder{
			Result: result, Metadata: pb.SandboxHandleMetadata_builder{AppId: box.app.id, Result: result}.Build(),
		}.Build()
		if result != nil || req.GetTimeout() <= 0 {
			return reply, nil
		}
		wake := time.NewTimer(next)
		select {
		case <-changed:
		case <-wake.C:
		case <-timeout.C:
			wake.Stop()
			return reply, nil
		case <-ctx.Done():
			wake.Stop()
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		wake.Stop()
	}
}

// nextChange is how long it takes until pollers may see something new.
func (s *Server) nextChange(box *sandbox) time.Duration {
	at, _ := s.due(box)
	if box.ended != nil {
		at = s.visibleAt(box)
	}
	return max(at.Sub(s.Now()), time.Millisecond)
}

func (c *control) SandboxTerminate(ctx context.Context, req *pb.SandboxTerminateRequest) (*pb.SandboxTerminateResponse, error) {
	return c.terminate(ctx, req)
}

func (c *control) SandboxTerminateV2(ctx context.Context, req *pb.SandboxTerminateRequest) (*pb.SandboxTerminateResponse, error) {
	return c.terminate(ctx, req)
}

// terminate returns at once; commands end now, pollers hear of it after
// Options.PollLag. To terminate twice is no error.
func (s *Server) terminate(ctx context.Context, req *pb.SandboxTerminateRequest) (*pb.SandboxTerminateResponse, error) {
	w, unlock := s.lock(ctx)
	defer unlock()
	box, err := s.sandbox(w, req.GetSandboxId())
	if err != nil {
		if s.opts.TerminateUnknownOK {
			return &pb.SandboxTerminateResponse{}, nil
		}
		return nil, err
	}
	var existing *pb.GenericResult
	if box.ended != nil {
		existing = box.ended.result
	}
	s.end(box, terminated)
	return pb.SandboxTerminateResponse_builder{ExistingResult: existing}.Build(), nil
}

func (c *control) SandboxGetFromName(ctx context.Context, req *pb.SandboxGetFromNameRequest) (*pb.SandboxGetFromNameResponse, error) {
	return c.getFromName(ctx, req, V1)
}

func (c *control) SandboxGetFromNameV2(ctx context.Context, req *pb.SandboxGetFromNameRequest) (*pb.SandboxGetFromNameResponse, error) {
	return c.getFromName(ctx, req, V2)
}

// getFromName finds the running holder of a name among one generation; the
// clients ask for the second first, and then for the first.
func (s *Server) getFromName(ctx context.Context, req *pb.SandboxGetFromNameRequest, generation Generations) (*pb.SandboxGetFromNameResponse, error) {
	w, unlock := s.lock(ctx)
	defer unlock()
	e, err := w.environment(req.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	a, err := w.app(e, req.GetAppName())
	if err != nil {
		return nil, err
	}
	box := s.holder(w, a, req.GetSandboxName())
	if box == nil || box.generation != generation || box.ended != nil && !req.GetIncludeTerminated() {
		return nil, status.Errorf(codes.NotFound, "Sandbox with name '%s' not found in app '%s'", req.GetSandboxName(), a.name)
	}
	return pb.SandboxGetFromNameResponse_builder{
		SandboxId: box.id, Metadata: pb.SandboxHandleMetadata_builder{AppId: a.id, Result: s.visibleResult(box)}.Build(),
	}.Build(), nil
}

// SandboxSetName names a sandbox once.
func (c *control) SandboxSetName(ctx context.Context, req *pb.SandboxSetNameRequest) (*pb.SandboxSetNameResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	box, err := c.sandbox(w, req.GetSandboxId())
	switch {
	case err != nil:
		return nil, err
	case box.ended != nil || box.name != "":
		return nil, status.Error(codes.FailedPrecondition, "Only a running Sandbox without a name can be named")
	case !nameRule.MatchString(req.GetName()):
		return nil, status.Errorf(codes.InvalidArgument, "Invalid Sandbox name '%s'", req.GetName())
	}
	if other := c.holder(w, box.app, req.GetName()); other != nil && c.holdsName(other) {
		return nil, status.Errorf(codes.AlreadyExists, "Sandbox with name '%s' already exists in app '%s'", req.GetName(), box.app.name)
	}
	box.name = req.GetName()
	w.names[nameKey{box.app, box.name}] = box
	return &pb.SandboxSetNameResponse{}, nil
}
