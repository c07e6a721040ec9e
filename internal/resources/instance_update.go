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

// Update changes a living sandbox: first what is enforced, then its end, then
// the tags that tell of both. The state follows each step, so that it is true
// wherever a step fails. Where the backend cannot move an end, a renewal is a
// rotation.
func (r *instanceResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state, config instanceModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	remembered := recall(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	conn, _ := r.refuse(plan, &resp.Diagnostics)
	timeout, d := plan.Timeouts.Update(ctx, defaultTimeout)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	u := update{conn: conn, ref: remembered.ref(state.Handle.ValueString()), state: state, plan: plan, adopted: remembered.Adopted}
	attempt := fmt.Sprintf("Sandbox %s on %q was not wholly updated", u.ref.Handle, conn.Location())
	if _, err := conn.Witness(ctx, remembered.Identity); err != nil {
		addError(&resp.Diagnostics, attempt, err)
		return
	}
	now := r.connections.Clock.Now()
	if u.rotating(remembered.Due, now) {
		holder, err := u.waitsFor(ctx)
		switch {
		case err != nil:
			addError(&resp.Diagnostics, attempt, err)
			return
		case holder == "":
			r.rotate(ctx, u, config, remembered, resp)
			return
		}
		resp.Diagnostics.AddWarning("Renewal waits for a task", fmt.Sprintf("%s has taken sandbox %s since it was planned. "+
			"It is renewed by the first apply after the task has let go.", holder, u.ref.Handle))
	}
	err := u.run(ctx, remembered.Due, now)
	conn.Snapshot.Forget(u.ref)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity(conn))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &u.state)...)
	if err != nil {
		addError(&resp.Diagnostics, attempt, changedMeanwhile(err))
		return
	}
	remembered.Due, remembered.Imported = nothingDue, false
	remembered.keep(ctx, resp.Private, &resp.Diagnostics)
}

// update is one update under way: state is what is true so far.
type update struct {
	conn        *Connection
	ref         sandbox.Ref
	state, plan instanceModel
	adopted     bool // it was imported: how it was born is not known
}

func (u *update) run(ctx context.Context, due due, now time.Time) error {
	if err := u.setNetwork(ctx, due); err != nil {
		return err
	}
	if u.renewing(due, now) && !rotates(u.conn) {
		if err := u.renew(ctx, now); err != nil {
			return err
		}
	}
	if err := u.writeTags(ctx); err != nil {
		return err
	}
	was := u.state
	u.state = u.plan
	u.state.Handle, u.state.CreatedAt, u.state.ExpiresAt = was.Handle, was.CreatedAt, was.ExpiresAt
	u.state.Attachment = u.state.attachment(u.conn)
	return nil
}

// setNetwork enforces the planned policy where it differs or where the tag that
// tells of it was damaged.
func (u *update) setNetwork(ctx context.Context, due due) error {
	if samePolicy(u.state.NetworkPolicy, u.plan.NetworkPolicy) && due != repairDue {
		return nil
	}
	editor, ok := u.conn.Backend.(backend.NetworkEditor)
	if !ok {
		return nil // the plan replaces then; only a tag is repaired
	}
	policy, _ := policyOf(u.plan.NetworkPolicy)
	err := editor.SetNetwork(ctx, u.ref, policy)
	if errors.Is(err, backend.ErrUnsupported) && samePolicy(u.state.NetworkPolicy, u.plan.NetworkPolicy) && !u.adopted {
		err = nil // we made it so, and only the tag that says so was damaged
	}
	if err != nil {
		return fmt.Errorf("set the network policy: %w", err)
	}
	u.state.NetworkPolicy = u.plan.NetworkPolicy
	return nil
}

// renewing reports whether the end must move: because Read said so, because it
// has none, because the lifetime became longer, or because an earlier renewal is
// due by now.
func (u *update) renewing(due due, now time.Time) bool {
	if due == renewalDue || u.state.ExpiresAt.IsNull() || duration(u.plan.Lifetime) > duration(u.state.Lifetime) {
		return true
	}
	before := duration(u.plan.RenewBefore)
	return before > duration(u.state.RenewBefore) && !now.Before(moment(u.state.ExpiresAt).Add(-before))
}

// renew moves the end to a whole lifetime from now, unless it is later already.
func (u *update) renew(ctx context.Context, now time.Time) error {
	until := now.Add(duration(u.plan.Lifetime)).Truncate(time.Second)
	if !until.After(moment(u.state.ExpiresAt)) {
		return nil
	}
	renewer, ok := u.conn.Backend.(backend.Renewer)
	if !ok {
		return fmt.Errorf("renew until %s: %w on this connection; replace the sandbox", until.Format(time.RFC3339), backend.ErrUnsupported)
	}
	ends, err := renewer.Renew(ctx, u.ref, until)
	if err != nil {
		return fmt.Errorf("renew until %s: %w", until.Format(time.RFC3339), err)
	}
	u.state.ExpiresAt = momentValue(end(until, ends))
	return nil
}

// writeTags stamps the sandbox anew, in one write, or none where nothing differs.
func (u *update) writeTags(ctx context.Context) error {
	next, err := u.plan.stamp(u.conn, moment(u.state.ExpiresAt))
	if err != nil {
		return err
	}
	formerly := mapStrings(u.state.Tags)
	var wanted sandbox.Tags
	err = backend.EditTags(ctx, u.conn.Backend, u.ref, func(tags sandbox.Tags) { next.write(tags, formerly); wanted = tags })
	if err != nil {
		return refusedTag(err, wanted)
	}
	u.state.Owner, u.state.Tags = u.plan.Owner, u.plan.Tags
	return nil
}

// changedMeanwhile explains what an update runs into when the sandbox is not any
// more what the plan saw.
func changedMeanwhile(err error) error {
	switch {
	case errors.Is(err, backend.ErrNotFound):
		return fmt.Errorf("the sandbox ended after the plan was made: %w. Plan again", err)
	case errors.Is(err, backend.ErrConflict):
		return fmt.Errorf("the sandbox changed after the plan was made: %w. Plan again", err)
	}
	return err
}
