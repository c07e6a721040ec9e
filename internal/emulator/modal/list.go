// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"slices"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/protobuf/proto"
)

// SandboxList has sandboxes of the first generation only.
func (c *control) SandboxList(ctx context.Context, req *pb.SandboxListRequest) (*pb.SandboxListResponse, error) {
	return c.list(ctx, req, V1)
}

// SandboxListV2 has both generations.
func (c *control) SandboxListV2(ctx context.Context, req *pb.SandboxListRequest) (*pb.SandboxListResponse, error) {
	return c.list(ctx, req, V1|V2)
}

// list answers with one page, newest first, of what was created strictly before
// the request's timestamp; the end is an empty page. What shares a timestamp
// with the last item of a page is lost to a client that pages by it.
func (s *Server) list(ctx context.Context, req *pb.SandboxListRequest, generations Generations) (*pb.SandboxListResponse, error) {
	w, unlock := s.lock(ctx)
	defer unlock()
	wanted, err := s.wanted(w, req, generations)
	if err != nil {
		return nil, err
	}
	var page []*pb.SandboxInfo
	for _, box := range slices.Backward(w.created[:w.countBefore(req.GetBeforeTimestamp())]) {
		if len(page) == s.opts.PageSize {
			break
		}
		if wanted(box) {
			page = append(page, s.info(box))
		}
	}
	return pb.SandboxListResponse_builder{Sandboxes: page}.Build(), nil
}

// countBefore is how many sandboxes were created before timestamp; 0 is no
// limit.
func (w *workspace) countBefore(timestamp float64) int {
	if timestamp == 0 {
		return len(w.created)
	}
	n, _ := slices.BinarySearchFunc(w.created, timestamp, func(box *sandbox, timestamp float64) int {
		if seconds(box.created) < timestamp {
			return -1
		}
		return 1
	})
	return n
}

// wanted is the filter of a request; the app decides over the environment.
func (s *Server) wanted(w *workspace, req *pb.SandboxListRequest, generations Generations) (func(*sandbox) bool, error) {
	var a *app
	var e *environment
	var err error
	if req.GetAppId() != "" {
		a, err = w.appByID(req.GetAppId())
	} else {
		e, err = w.environment(req.GetEnvironmentName())
	}
	if err != nil {
		return nil, err
	}
	return func(box *sandbox) bool {
		if !generations.has(box.generation) || box.app != a && (a != nil || box.app.environment != e) || !hasTags(box.tags, req.GetTags()) {
			return false
		}
		s.settle(box)
		return req.GetIncludeFinished() && !s.forgotten(box) || s.visibleResult(box) == nil
	}, nil
}

// info is a list item.
func (s *Server) info(box *sandbox) *pb.SandboxInfo {
	task := pb.TaskInfo_builder{Id: box.taskID, EnqueuedAt: seconds(box.created), StartedAt: seconds(box.created)}
	if result := s.visibleResult(box); result != nil {
		task.Result, task.FinishedAt = result, seconds(box.ended.at)
	}
	info := pb.SandboxInfo_builder{
		Id: box.id, AppId: box.app.id, Name: box.name, ImageId: box.definition.GetImageId(),
		CreatedAt: seconds(box.created), TaskInfo: task.Build(),
		Metadata: pb.SandboxHandleMetadata_builder{AppId: box.app.id}.Build(),
		Regions:  box.definition.GetSchedulerPlacement().GetRegions(),
	}
	if !s.opts.ListWithoutTags.has(box.generation) {
		info.Tags = box.tags
	}
	if !s.opts.ListWithoutTimeout.has(box.generation) {
		info.TimeoutSecs = box.definition.GetTimeoutSecs()
		if box.definition.HasIdleTimeoutSecs() {
			info.IdleTimeoutSecs = proto.Uint32(box.definition.GetIdleTimeoutSecs())
		}
	}
	return info.Build()
}
