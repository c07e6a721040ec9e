// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// hasTags reports whether tags holds every one of wanted.
func hasTags(tags, wanted []*pb.SandboxTag) bool {
	for _, want := range wanted {
		found := false
		for _, tag := range tags {
			found = found || tag.GetTagName() == want.GetTagName() && tag.GetTagValue() == want.GetTagValue()
		}
		if !found {
			return false
		}
	}
	return true
}

func (c *control) SandboxTagsGet(ctx context.Context, req *pb.SandboxTagsGetRequest) (*pb.SandboxTagsGetResponse, error) {
	return c.getTags(ctx, req)
}

func (c *control) SandboxTagsGetV2(ctx context.Context, req *pb.SandboxTagsGetRequest) (*pb.SandboxTagsGetResponse, error) {
	return c.getTags(ctx, req)
}

func (s *Server) getTags(ctx context.Context, req *pb.SandboxTagsGetRequest) (*pb.SandboxTagsGetResponse, error) {
	w, unlock := s.lock(ctx)
	defer unlock()
	box, err := s.sandbox(w, req.GetSandboxId())
	if err != nil {
		return nil, err
	}
	return pb.SandboxTagsGetResponse_builder{Tags: box.tags}.Build(), nil
}

func (c *control) SandboxTagsSet(ctx context.Context, req *pb.SandboxTagsSetRequest) (*emptypb.Empty, error) {
	return c.setTags(ctx, req)
}

func (c *control) SandboxTagsSetV2(ctx context.Context, req *pb.SandboxTagsSetRequest) (*emptypb.Empty, error) {
	return c.setTags(ctx, req)
}

// setTags replaces the whole set, also of a sandbox that has ended.
func (s *Server) setTags(ctx context.Context, req *pb.SandboxTagsSetRequest) (*emptypb.Empty, error) {
	w, unlock := s.lock(ctx)
	defer unlock()
	box, err := s.sandbox(w, req.GetSandboxId())
	if err != nil {
		return nil, err
	}
	if err := s.checkTags(req.GetTags()); err != nil {
		return nil, err
	}
	box.tags = req.GetTags()
	return &emptypb.Empty{}, nil
}
