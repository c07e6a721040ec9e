// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"strings"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func (c *control) ImagePublish(ctx context.Context, req *pb.ImagePublishRequest) (*pb.ImagePublishResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	e, err := w.environment(req.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	if _, err := w.image(req.GetImageId()); err != nil {
		return nil, err
	}
	w.published[publishedKey(e, req.GetTag())] = req.GetImageId()
	return pb.ImagePublishResponse_builder{ImageId: req.GetImageId()}.Build(), nil
}

func (c *control) ImageGetByTag(ctx context.Context, req *pb.ImageGetByTagRequest) (*pb.ImageGetByTagResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	e, err := w.environment(req.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	id, ok := w.published[publishedKey(e, req.GetTag())]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "Image '%s' not found in environment '%s'", req.GetTag(), e.name)
	}
	return pb.ImageGetByTagResponse_builder{ImageId: id}.Build(), nil
}

// publishedKey completes a tag that names no version.
func publishedKey(e *environment, tag string) string {
	if !strings.Contains(tag, ":") {
		tag += ":latest"
	}
	return e.name + "/" + tag
}
