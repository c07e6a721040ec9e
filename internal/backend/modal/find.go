// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Find lists what carries the mark as its tag; that it does is checked, since what
// is found may be destroyed. Where the list shows nothing, the name that holds the
// mark is looked up, since a list may lag behind a create.
func (a *app) Find(ctx context.Context, mark string) ([]sandbox.Sandbox, error) {
	found, err := a.find(ctx, mark)
	return found, a.failed("find what was made under the mark "+mark, "", err)
}

func (a *app) find(ctx context.Context, mark string) ([]sandbox.Sandbox, error) {
	s, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	var all []sandbox.Sandbox
	for info, err := range s.list(ctx, sandbox.Tags{sandbox.TagAttempt: mark}) {
		if err != nil {
			return nil, err
		}
		found, err := s.read(ctx, info)
		switch {
		case errors.Is(err, backend.ErrNotFound): // it ended meanwhile
		case err != nil:
			return nil, err
		case found.Tags[sandbox.TagAttempt] == mark:
			all = append(all, found)
		}
	}
	if len(all) > 0 {
		return all, nil
	}
	return s.findByName(ctx, mark)
}

// findByName looks the name up in both generations. The tag decides: a name can
// be taken by anybody.
func (s *session) findByName(ctx context.Context, mark string) ([]sandbox.Sandbox, error) {
	request := pb.SandboxGetFromNameRequest_builder{
		SandboxName: sandbox.Name(mark), AppName: s.name, EnvironmentName: s.environment,
	}.Build()
	var all []sandbox.Sandbox
	for _, lookUp := range []func() (*pb.SandboxGetFromNameResponse, error){
		func() (*pb.SandboxGetFromNameResponse, error) { return s.rpc.SandboxGetFromNameV2(ctx, request) },
		func() (*pb.SandboxGetFromNameResponse, error) { return s.rpc.SandboxGetFromName(ctx, request) },
	} {
		found, err := s.named(ctx, lookUp)
		switch {
		case errors.Is(err, backend.ErrNotFound):
		case err != nil:
			return nil, err
		case found.Tags[sandbox.TagAttempt] == mark && (len(all) == 0 || all[0].Ref != found.Ref):
			all = append(all, found)
		}
	}
	return all, nil
}

func (s *session) named(ctx context.Context, lookUp func() (*pb.SandboxGetFromNameResponse, error)) (sandbox.Sandbox, error) {
	reply, err := lookUp()
	if err != nil {
		return sandbox.Sandbox{}, classed(err)
	}
	h, err := s.handle(ctx, reply.GetSandboxId())
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	return s.get(ctx, h)
}
