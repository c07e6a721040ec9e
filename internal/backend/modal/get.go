// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var (
	handlePattern = regexp.MustCompile(`^sb-[0-9A-Za-z_-]{1,125}$`)
	// firstGeneration is what the client tells a V1 sandbox by (sandbox.go).
	firstGeneration = regexp.MustCompile(`^sb-[0-9A-Za-z]{22}$`)
)

// Get reads one sandbox. One that was met before costs one call: the list, asked
// for the tag that only this sandbox has, answers with everything at once. One
// that we have ended is asked for its command router first, since the list and
// the poll may call it running for half a minute more (measured).
func (a *app) Get(ctx context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	s, h, err := a.use(ctx, ref)
	if err != nil {
		return sandbox.Sandbox{}, a.failed("read sandbox", ref.Handle, err)
	}
	found, err := s.get(ctx, h)
	return found, a.failed("read sandbox", ref.Handle, err)
}

// use enters the app and takes hold of a sandbox, without a call about it.
func (a *app) use(ctx context.Context, ref sandbox.Ref) (*session, *sdk.Sandbox, error) {
	if !handlePattern.MatchString(ref.Handle) {
		return nil, nil, fmt.Errorf("%w: %q is not the id of a Modal sandbox, which begins with sb-", backend.ErrInvalid, ref.Handle)
	}
	if ref.Incarnation != "" {
		return nil, nil, fmt.Errorf("%w: Modal never reuses an id, so a sandbox has no incarnation %q", backend.ErrNotFound, ref.Incarnation)
	}
	s, err := a.enter(ctx)
	if err != nil {
		return nil, nil, err
	}
	h, err := s.handle(ctx, ref.Handle)
	return s, h, err
}

func (s *session) handle(ctx context.Context, handle string) (*sdk.Sandbox, error) {
	return s.sdk.Sandboxes.FromID(ctx, handle, nil) // makes no call
}

func (s *session) get(ctx context.Context, h *sdk.Sandbox) (sandbox.Sandbox, error) {
	known := s.memory.of(h.SandboxID)
	if known.destroyed {
		if gone, err := s.gone(ctx, h.SandboxID, known.task); err != nil || gone {
			return sandbox.Sandbox{}, orEnded(err)
		}
	}
	if known.key != "" {
		found, err := s.pick(ctx, h.SandboxID, sandbox.Tags{known.key: known.value})
		if !errors.Is(err, backend.ErrNotFound) {
			return found, err
		}
	}
	return s.getByID(ctx, h)
}

// pick finds a sandbox in the list of those that have tags.
func (s *session) pick(ctx context.Context, handle string, tags sandbox.Tags) (sandbox.Sandbox, error) {
	for info, err := range s.list(ctx, tags) {
		if err != nil {
			return sandbox.Sandbox{}, err
		}
		if info.GetId() == handle {
			return s.read(ctx, info)
		}
	}
	return sandbox.Sandbox{}, backend.ErrNotFound
}

// getByID reads what is not known yet, or not listed. A sandbox of another app
// is not found here.
func (s *session) getByID(ctx context.Context, h *sdk.Sandbox) (sandbox.Sandbox, error) {
	state, err := s.state(ctx, h.SandboxID)
	if err != nil {
		return sandbox.Sandbox{}, classed(err)
	}
	if app := state.GetMetadata().GetAppId(); app != "" && app != s.found.AppID {
		return sandbox.Sandbox{}, fmt.Errorf("%w in the app %s: it belongs to another one, %s", backend.ErrNotFound, s.found.AppID, app)
	}
	if finished(state.GetResult()) {
		return sandbox.Sandbox{}, orEnded(nil)
	}
	tags, err := s.tags(ctx, h.SandboxID)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	found, err := s.pick(ctx, h.SandboxID, tags)
	if !errors.Is(err, backend.ErrNotFound) {
		return found, err
	}
	if gone, err := s.gone(ctx, h.SandboxID, ""); err != nil || gone {
		return sandbox.Sandbox{}, orEnded(err)
	}
	// Alive, but not listed yet, or no more.
	return s.read(ctx, pb.SandboxInfo_builder{Id: h.SandboxID, Tags: wireTags(tags)}.Build())
}

// state polls the sandbox without waiting.
func (s *session) state(ctx context.Context, handle string) (*pb.SandboxWaitResponse, error) {
	request := pb.SandboxWaitRequest_builder{SandboxId: handle}.Build()
	if firstGeneration.MatchString(handle) {
		return s.rpc.SandboxWait(ctx, request)
	}
	return s.rpc.SandboxWaitV2(ctx, request)
}

// gone asks for access to the sandbox's command router, the quickest witness of
// its end: NOT_FOUND as soon as it is terminated (measured). A V1 sandbox is
// reached through its task; one whose task has a result has ended.
func (s *session) gone(ctx context.Context, handle, task string) (bool, error) {
	var err error
	if !firstGeneration.MatchString(handle) {
		_, err = s.rpc.SandboxGetCommandRouterAccess(ctx, pb.SandboxGetCommandRouterAccessRequest_builder{SandboxId: &handle}.Build())
		return absent(err)
	}
	if task == "" {
		reply, err := s.rpc.SandboxGetTaskId(ctx, pb.SandboxGetTaskIdRequest_builder{SandboxId: handle}.Build())
		if err != nil {
			return absent(err)
		}
		if finished(reply.GetTaskResult()) {
			return true, nil
		}
		if task = reply.GetTaskId(); task == "" { // not scheduled yet
			return false, nil
		}
	}
	_, err = s.rpc.TaskGetCommandRouterAccess(ctx, pb.TaskGetCommandRouterAccessRequest_builder{TaskId: task}.Build())
	return absent(err)
}

// absent reads the answer to a request for access. A sandbox that is shutting
// down is in conflict with it, and still there.
func absent(err error) (bool, error) {
	switch err = classed(err); {
	case errors.Is(err, backend.ErrNotFound):
		return true, nil
	case errors.Is(err, backend.ErrConflict):
		return false, nil
	}
	return false, err
}

func orEnded(err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: it has ended", backend.ErrNotFound)
}

// finished reports whether a result is one. Modal leaves it out, or without a
// status, while a sandbox runs.
func finished(result *pb.GenericResult) bool {
	return result.GetStatus() != pb.GenericResult_GENERIC_STATUS_UNSPECIFIED
}
