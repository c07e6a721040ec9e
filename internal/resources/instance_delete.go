// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// markWithin bounds the teardown mark that a failed destroy leaves behind, also
// when the failure was an interrupt.
const markWithin = 10 * time.Second

// Delete destroys the sandbox and waits until it is gone. When that fails the
// sandbox stays in the state and carries a teardown mark, so that the next apply
// or the janitor finishes the work.
func (r *instanceResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state instanceModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	remembered := recall(ctx, req.Private, &resp.Diagnostics)
	timeout, d := state.Timeouts.Delete(ctx, defaultTimeout)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return
	}
	conn, err := r.connections.Open(state.ConnectionURI.ValueString())
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("connection_uri"), "Connection cannot be opened", err.Error())
		return
	}
	ref := remembered.ref(state.Handle.ValueString())
	attempt := fmt.Sprintf("Sandbox %s on %s was not destroyed", ref.Handle, conn.Location())
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if _, err := conn.Witness(bounded, remembered.Identity); err != nil {
		addError(&resp.Diagnostics, attempt, err)
		return
	}
	err = destroy(bounded, conn.Backend, ref)
	conn.Snapshot.Forget(ref)
	if err != nil {
		if left := r.leaveMark(ctx, conn.Backend, ref, err); left != nil {
			addError(&resp.Diagnostics, attempt, left)
		}
	}
}

// destroy returns nil once the sandbox is gone. Another incarnation under the
// same handle means that ours is.
func destroy(ctx context.Context, b backend.Backend, ref sandbox.Ref) error {
	err := b.Destroy(ctx, ref)
	switch {
	case errors.Is(err, backend.ErrNotFound), errors.Is(err, backend.ErrConflict):
		return nil
	case err != nil:
		return err
	}
	return backend.WaitGone(ctx, b, ref)
}

// leaveMark stamps the sandbox for teardown after failure, and says what is to
// be done now. It returns nil when the sandbox turns out to be gone.
func (r *instanceResource) leaveMark(ctx context.Context, b backend.Backend, ref sandbox.Ref, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWithin)
	defer cancel()
	at := strconv.FormatInt(r.connections.Clock.Now().Unix(), 10)
	err := backend.EditTags(ctx, b, ref, func(tags sandbox.Tags) {
		if _, marked := tags[sandbox.TagTeardownAt]; !marked {
			tags[sandbox.TagTeardownAt] = at
		}
	})
	if errors.Is(err, backend.ErrNotFound) {
		return nil
	}
	return unfinished(failure, err)
}
