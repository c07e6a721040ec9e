// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Destroy terminates the sandbox and does not wait: waiting takes Modal half a
// minute (measured). Terminating twice is no error.
func (a *app) Destroy(ctx context.Context, ref sandbox.Ref) error {
	_, h, err := a.use(ctx, ref)
	if err == nil {
		_, err = h.Terminate(ctx, nil)
	}
	if err = classed(err); err == nil || errors.Is(err, backend.ErrNotFound) {
		a.memory.destroyed(ref.Handle)
		return nil
	}
	return a.failed("destroy sandbox", ref.Handle, err)
}
