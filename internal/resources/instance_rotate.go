// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
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

// rotate makes the successor of a sandbox, and only once there is one retires the
// old one. Terraform saves both when Update returns. Killed before that, it leaves
// a stray, which bears the handle that it was to replace: the next Read finds it,
// and the next rotation or destroy retires it.
func (r *instanceResource) rotate(ctx context.Context, u update, config instanceModel, remembered memory, resp *resource.UpdateResponse) {
	next := u.plan
	ref, err := r.make(ctx, u.conn, &next, config, u.ref.Handle)
	if err != nil {
		addError(&resp.Diagnostics, fmt.Sprintf("Sandbox %s on %q was not renewed; it stands as it was", u.ref.Handle, u.conn.Location()), err)
		return
	}
	r.retire(ctx, u.conn, append(remembered.Strays, u.ref), &resp.Diagnostics)
	remembered = memory{Identity: remembered.Identity, Incarnation: ref.Incarnation}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, next.identity(u.conn))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &next)...)
	remembered.keep(ctx, resp.Private, &resp.Diagnostics)
}

// strays are what rotations that were killed have made to take the place of a
// sandbox.
func (m memory) strays(conn *Connection, handle string) []sandbox.Ref {
	var all []sandbox.Ref
	if m.Adopted {
		return nil
	}
	for _, s := range conn.Snapshot.Replacing(handle) {
		if _, retired := s.Tags[sandbox.TagRetiredAt]; !retired && s.State != sandbox.Stopping && s.State != sandbox.Ended {
			all = append(all, s.Ref)
		}
	}
	return all
}

// retire leaves sandboxes that were replaced to their holders and to the janitor.
// One that cannot be marked is no reason to fail: it ends by itself.
func (r *instanceResource) retire(ctx context.Context, conn *Connection, replaced []sandbox.Ref, diags *diag.Diagnostics) {
	for _, ref := range replaced {
		err := r.mark(ctx, conn.Backend, ref, sandbox.TagRetiredAt)
		conn.Snapshot.Forget(ref)
		if err != nil && !errors.Is(err, backend.ErrNotFound) {
			diags.AddWarning("Old sandbox was not marked as retired", fmt.Sprintf(
				"Sandbox %s on %q was replaced and could not be marked: %v. The janitor takes it once it is past its end.",
				ref.Handle, conn.Location(), err))
		}
	}
}
