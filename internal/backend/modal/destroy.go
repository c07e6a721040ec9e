// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Destroy terminates the sandbox and does not wait: waiting takes Modal half a
// minute (measured). Terminating twice is no error. A sandbox that Modal does not
// terminate just now lives on, which is no ErrConflict: that is about incarnations.
func (a *app) Destroy(ctx context.Context, ref sandbox.Ref) error {
	err := a.terminate(ctx, ref)
	if err == nil || errors.Is(err, backend.ErrNotFound) {
		a.memory.destroyed(ref.Handle)
		return nil
	}
	return a.failed("destroy sandbox", ref.Handle, err)
}

func (a *app) terminate(ctx context.Context, ref sandbox.Ref) error {
	if ref.Incarnation != "" {
		return fmt.Errorf("%w: Modal never reuses an id, so a sandbox has no incarnation %q", backend.ErrConflict, ref.Incarnation)
	}
	_, h, err := a.use(ctx, ref)
	if err != nil {
		return classed(err)
	}
	_, err = h.Terminate(ctx, nil)
	if err = classed(err); errors.Is(err, backend.ErrConflict) {
		return fmt.Errorf("%w: Modal did not terminate it: %v", backend.ErrUnavailable, err)
	}
	return err
}
