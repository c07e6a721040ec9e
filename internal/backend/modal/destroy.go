// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Destroy terminates the sandbox and does not wait: waiting takes Modal half a
// minute (measured). Terminating twice is no error. A sandbox that Modal does not
// terminate just now lives on, which is no ErrConflict: that is about incarnations.
func (a *app) Destroy(ctx context.Context, ref sandbox.Ref) error {
	_, err := a.DestroyTelling(ctx, ref)
	return err
}

// DestroyTelling is Destroy. Lists and polls may call running what another has
// ended half a minute ago; the answer to a terminate knows.
func (a *app) DestroyTelling(ctx context.Context, ref sandbox.Ref) (ended bool, err error) {
	ended, err = a.terminate(ctx, ref)
	if err == nil || errors.Is(err, backend.ErrNotFound) {
		a.memory.destroyed(ref.Handle)
		return ended, nil
	}
	return false, a.failed("destroy sandbox", ref.Handle, err)
}

func (a *app) terminate(ctx context.Context, ref sandbox.Ref) (ended bool, err error) {
	if ref.Incarnation != "" {
		return false, fmt.Errorf("%w: Modal never reuses an id, so a sandbox has no incarnation %q", backend.ErrConflict, ref.Incarnation)
	}
	_, h, err := a.use(ctx, ref)
	if err != nil {
		return false, classed(err)
	}
	told := &death{}
	_, err = h.Terminate(context.WithValue(ctx, deathKey{}, told), nil)
	if err = classed(err); errors.Is(err, backend.ErrConflict) {
		return false, fmt.Errorf("%w: Modal did not terminate it: %v", backend.ErrUnavailable, err)
	}
	return told.attempts == 1 && (told.before || errors.Is(err, backend.ErrNotFound)), err
}

// death notes what a terminate call was answered. The client hides whether the
// sandbox had a result already, which after a lost answer may be our own doing.
type death struct {
	attempts int
	before   bool
}

type deathKey struct{}

func (d *death) note(reply any) {
	if reply, ok := reply.(*pb.SandboxTerminateResponse); ok {
		d.before = finished(reply.GetExistingResult())
	}
}
