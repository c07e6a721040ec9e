// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// markWithin bounds the marks that are left on a sandbox, also after an
// interrupt.
const markWithin = 10 * time.Second

// Delete destroys the sandbox and waits until it is gone. Where Airflow can
// attach it claims the sandbox first, so that no running task is killed by
// surprise. When the destroy fails the sandbox stays in the state and carries a
// teardown mark, so that the next apply or the janitor finishes the work.
func (r *instanceResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state instanceModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	remembered := recall(ctx, req.Private, &resp.Diagnostics)
	timeout, d := state.Timeouts.Delete(ctx, defaultTimeout)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return
	}
	conn := r.connections.openAttribute(state.ConnectionURI, &resp.Diagnostics)
	if conn == nil {
		return
	}
	ref := remembered.ref(state.Handle.ValueString())
	attempt := fmt.Sprintf("Sandbox %s on %q was not destroyed", ref.Handle, conn.Location())
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := conn.Witness(bounded, remembered.Identity); err != nil {
		addError(&resp.Diagnostics, attempt, err)
		return
	}

	r.retire(ctx, conn, remembered.Strays, &resp.Diagnostics)
	claim := r.newClaim(conn, ref, state.OnHeld.ValueString())
	switch holder, err := claim.take(bounded); {
	case errors.Is(err, backend.ErrNotFound):
		return
	case err != nil:
		addError(&resp.Diagnostics, attempt, err)
		return
	case holder != "":
		if err := r.mark(ctx, conn.Backend, ref, sandbox.TagRetiredAt); err != nil && !errors.Is(err, backend.ErrNotFound) {
			addError(&resp.Diagnostics, fmt.Sprintf("Sandbox %s on %q was not retired", ref.Handle, conn.Location()), err)
			return
		}
		resp.Diagnostics.AddWarning("Sandbox is left to its holder", fmt.Sprintf(
			"%s holds sandbox %s, which is retired and forgotten: it ends at %s, or the janitor takes it once nobody holds it.",
			holder, ref.Handle, state.ExpiresAt.ValueString()))
		return
	}
	err := destroy(bounded, conn.Backend, ref)
	conn.Snapshot.Forget(ref)
	if err != nil {
		if left := claim.leave(ctx, err); left != nil {
			addError(&resp.Diagnostics, attempt, left)
		}
	}
}

// destroy returns nil once the sandbox is gone. Another incarnation under the
// same handle means that ours is; where ours is not known, a conflict means
// nothing of the kind.
func destroy(ctx context.Context, b backend.Backend, ref sandbox.Ref) error {
	err := b.Destroy(ctx, ref)
	switch {
	case errors.Is(err, backend.ErrNotFound), errors.Is(err, backend.ErrConflict) && ref.Incarnation != "":
		return nil
	case err != nil:
		return err
	}
	return backend.WaitGone(ctx, b, ref)
}

// mark stamps the sandbox with the present moment under key, unless it bears that
// stamp already.
func (r *instanceResource) mark(ctx context.Context, b backend.Backend, ref sandbox.Ref, key string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWithin)
	defer cancel()
	at := strconv.FormatInt(r.connections.Clock.Now().Unix(), 10)
	return backend.EditTags(ctx, b, ref, func(tags sandbox.Tags) { markOnce(tags, key, at) })
}

func markOnce(tags sandbox.Tags, key, at string) {
	if _, marked := tags[key]; !marked {
		tags[key] = at
	}
}
