// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// rotates reports whether a renewal on conn makes a new sandbox, because the
// backend cannot move the end of one.
func rotates(conn *Connection) bool {
	_, renewer := conn.Backend.(backend.Renewer)
	return !renewer
}

// rotating reports whether the update makes a new sandbox: only where the plan
// said so, since dependants follow the handle.
func (u *update) rotating(due due, now time.Time) bool {
	return rotates(u.conn) && u.plan.Handle.IsUnknown() && u.renewing(due, now)
}

// waitsFor names the task for which a rotation waits: one that has attached
// since Read looked. A longer lifetime waits for nobody, because it is the
// user's word and not the clock's; the old sandbox stays with its holder.
func (u *update) waitsFor(ctx context.Context) (holder string, err error) {
	if duration(u.plan.Lifetime) > duration(u.state.Lifetime) {
		return "", nil
	}
	found, err := u.conn.Backend.Get(ctx, u.ref)
	switch {
	case errors.Is(err, backend.ErrNotFound):
		return "", nil // its successor is what the plan wants
	case err != nil:
		return "", err
	}
	return heldBy(found.Tags), nil
}

// rotate makes the successor of a sandbox, and only once that is in the state
// retires the old one. Killed in between, it leaves a sandbox with all by which
// the janitor knows it.
func (r *instanceResource) rotate(ctx context.Context, u update, config instanceModel, remembered memory, resp *resource.UpdateResponse) {
	next := u.plan
	ref, err := r.make(ctx, u.conn, &next, config)
	if err != nil {
		addError(&resp.Diagnostics, fmt.Sprintf("Sandbox %s on %s was not renewed; it stands as it was", u.ref.Handle, u.conn.Location()), err)
		return
	}
	remembered.Incarnation, remembered.Due, remembered.Imported = ref.Incarnation, nothingDue, false
	resp.Diagnostics.Append(resp.Identity.Set(ctx, next.identity(u.conn))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &next)...)
	remembered.keep(ctx, resp.Private, &resp.Diagnostics)

	err = r.mark(ctx, u.conn.Backend, u.ref, sandbox.TagRetiredAt)
	u.conn.Snapshot.Forget(u.ref)
	if err != nil && !errors.Is(err, backend.ErrNotFound) {
		resp.Diagnostics.AddWarning("Old sandbox was not marked as retired", fmt.Sprintf(
			"Sandbox %s has taken the place of %s, which could not be marked (%v). It ends at %s, and the janitor takes it after that.",
			ref.Handle, u.ref.Handle, err, u.state.ExpiresAt.ValueString()))
	}
}
