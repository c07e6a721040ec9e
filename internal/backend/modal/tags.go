// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"fmt"
	"unicode/utf8"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// SetTags replaces the whole set: Modal has no other write, and no conditional
// one.
func (a *app) SetTags(ctx context.Context, ref sandbox.Ref, tags sandbox.Tags) error {
	err := a.setTags(ctx, ref, tags)
	return a.failed("set the tags of sandbox", ref.Handle, err)
}

func (a *app) setTags(ctx context.Context, ref sandbox.Ref, tags sandbox.Tags) error {
	if err := checkTags(tags); err != nil {
		return err
	}
	s, h, err := a.use(ctx, ref)
	if err != nil {
		return err
	}
	// A sandbox that we ended may still take tags for a while.
	if a.memory.of(ref.Handle).destroyed {
		if _, err := s.get(ctx, h); err != nil {
			return err
		}
	}
	return classed(h.SetTags(ctx, tags, nil))
}

// tags reads the tags of one sandbox.
func (s *session) tags(ctx context.Context, handle string) (sandbox.Tags, error) {
	h, err := s.handle(ctx, handle)
	if err != nil {
		return nil, err
	}
	tags, err := h.GetTags(ctx, nil)
	return sandbox.Tags(tags).Clone(), classed(err)
}

// checkTags refuses what the wire cannot carry.
func checkTags(tags sandbox.Tags) error {
	for key, value := range tags {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return fmt.Errorf("%w: the tag %q is not valid UTF-8", backend.ErrInvalid, key)
		}
	}
	return nil
}

func wireTags(tags sandbox.Tags) []*pb.SandboxTag {
	var list []*pb.SandboxTag
	for key, value := range tags {
		list = append(list, pb.SandboxTag_builder{TagName: key, TagValue: value}.Build())
	}
	return list
}

func tagsOf(list []*pb.SandboxTag) sandbox.Tags {
	tags := make(sandbox.Tags, len(list))
	for _, tag := range list {
		tags[tag.GetTagName()] = tag.GetTagValue()
	}
	return tags
}
