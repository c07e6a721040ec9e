// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Read brings the state up to the truth and leaves a verdict for ModifyPlan.
// It is the only place of this resource that judges by the clock. It writes
// nothing to the backend.
func (r *instanceResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state instanceModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	remembered := recall(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	conn := r.connections.openAttribute(state.ConnectionURI, &resp.Diagnostics)
	if conn == nil {
		return
	}
	// Before anything is removed: the framework wants an identity then, too.
	resp.Diagnostics.Append(resp.Identity.Set(ctx, state.identity(conn))...)

	attempt := fmt.Sprintf("Sandbox %s on %q cannot be read", state.Handle.ValueString(), conn.Location())
	identity, err := conn.Witness(ctx, remembered.Identity)
	if err != nil {
		addError(&resp.Diagnostics, attempt, err)
		return
	}
	remembered.Identity = identity
	found, err := conn.Snapshot.Get(ctx, remembered.ref(state.Handle.ValueString()))
	switch {
	case errors.Is(err, backend.ErrNotFound), err == nil && found.State == sandbox.Ended:
		r.warnGone(state, &resp.Diagnostics)
		warnOrphans(conn.String(), remembered.strays(conn, state.Handle.ValueString()), &resp.Diagnostics)
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		addError(&resp.Diagnostics, attempt, err)
		return
	case found.Problem != "" && state.Lifetime.IsNull(): // an import needs to know it
		resp.Diagnostics.AddError(attempt, found.Problem+"\n\nRestore what is named above, then import it.")
		return
	case found.Problem != "":
		warnUnreadable(attempt, found, &resp.Diagnostics)
		remembered.Due = nothingDue
		remembered.keep(ctx, resp.Private, &resp.Diagnostics)
		return
	}
	remembered.Incarnation = found.Incarnation
	state.follow(found, conn)
	state.Attachment = state.attachment(conn)
	remembered.Due = r.judge(state, found, conn)
	remembered.Strays = remembered.strays(conn, found.Handle)
	warnStrays(found.Handle, remembered.Strays, &resp.Diagnostics)
	if holder := heldBy(found.Tags); remembered.Due == renewalDue && rotates(conn) && holder != "" {
		resp.Diagnostics.AddWarning("Renewal waits for a task", fmt.Sprintf("Sandbox %s is due for renewal, but %s holds it. "+
			"It is renewed by the first apply after the task has let go; otherwise it ends at %s.",
			found.Handle, holder, state.ExpiresAt.ValueString()))
		remembered.Due = nothingDue
	}
	if remembered.Due == repairDue {
		warnDamaged(found.Handle, state.damaged(found, conn), &resp.Diagnostics)
	}
	if remembered.Due == replacingDue {
		warnReplaced(state, found, &resp.Diagnostics)
	} else {
		r.warnLateEnd(state, found, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	remembered.keep(ctx, resp.Private, &resp.Diagnostics)
}

// warnGone says why a sandbox leaves the state.
func (r *instanceResource) warnGone(state instanceModel, diags *diag.Diagnostics) {
	expiry := moment(state.ExpiresAt)
	if !expiry.IsZero() && !r.connections.Clock.Now().Before(expiry) {
		diags.AddWarning("Sandbox expired", fmt.Sprintf("Sandbox %s expired at %s and is gone.",
			state.Handle.ValueString(), state.ExpiresAt.ValueString()))
		return
	}
	diags.AddWarning("Sandbox ended early", fmt.Sprintf("Sandbox %s was to live until %s, but it is gone: "+
		"it ended by itself, or somebody destroyed it.", state.Handle.ValueString(), state.ExpiresAt.ValueString()))
}

// judge decides what the next plan must do about a sandbox that is there.
func (r *instanceResource) judge(state instanceModel, found sandbox.Sandbox, conn *Connection) due {
	now, expiry := r.connections.Clock.Now(), endOf(found)
	_, tearingDown := found.Tags[sandbox.TagTeardownAt]
	before := duration(state.RenewBefore)
	switch {
	case found.State == sandbox.Failed, found.State == sandbox.Stopping, tearingDown:
		return replacingDue
	case !expiry.IsZero() && !now.Before(expiry):
		return replacingDue
	case !expiry.IsZero() && before > 0 && !now.Before(expiry.Add(-before)):
		return renewalDue
	case len(state.damaged(found, conn)) > 0:
		return repairDue
	}
	return nothingDue
}

// damaged returns the tags that the next update repairs.
func (m instanceModel) damaged(found sandbox.Sandbox, conn *Connection) []string {
	if !found.TagsKnown {
		return nil
	}
	return stamp{workdir: m.workdir(conn)}.damaged(found.Tags)
}

// follow takes over what a read tells. What it does not tell stays as it was;
// what means the same stays as it was written.
func (m *instanceModel) follow(found sandbox.Sandbox, conn *Connection) {
	if m.CreatedAt.IsNull() {
		m.CreatedAt = momentValue(found.CreatedAt)
	}
	if expiry := endOf(found); !expiry.IsZero() {
		m.ExpiresAt = momentValue(expiry)
	}
	if m.Lifetime.IsNull() {
		m.followImport(found, conn)
	}
	if !found.TagsKnown {
		return
	}
	owner, owned := found.Tags[airflow.TagOwner]
	m.Owner = types.StringPointerValue(pointerIf(owner, owned))
	m.Deployment = stringOrNull(found.Tags[sandbox.TagDeployment])
	if policy, err := airflow.DecodeNetwork(found.Tags[airflow.TagNetwork]); err == nil {
		was, _ := policyOf(m.NetworkPolicy)
		if !airflow.SameNetwork(was, policy) {
			m.NetworkPolicy = policyObject(policy)
		}
	}
	if !m.Tags.IsNull() {
		m.Tags = stringsMap(stillThere(mapStrings(m.Tags), found.Tags))
	}
}

// followImport takes over, on the first read after an import, what later belongs
// to the configuration: the lifetime is about what lies between the two dates,
// and every tag that nobody else has reserved counts as the user's.
func (m *instanceModel) followImport(found sandbox.Sandbox, conn *Connection) {
	if created, expires := moment(m.CreatedAt), moment(m.ExpiresAt); !created.IsZero() && expires.After(created) {
		m.Lifetime = types.StringValue(wholeMinutes(expires.Sub(created)))
	}
	if dir := found.Tags[airflow.TagWorkdir]; dir != "" && dir != defaultWorkdir(conn) {
		m.Workdir = types.StringValue(dir)
	}
	ours := map[string]string{}
	for key, value := range found.Tags {
		if !sandbox.ReservedTag(key) {
			ours[key] = value
		}
	}
	if len(ours) > 0 {
		m.Tags = stringsMap(ours)
	}
}

// wholeMinutes rounds up, because a sandbox is created a moment after its end was
// reckoned, and writes the duration as a person does: 1h, not 1h0m0s.
func wholeMinutes(d time.Duration) string {
	whole := (d + time.Minute - 1).Truncate(time.Minute)
	s := strings.TrimSuffix(whole.String(), "0s")
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// stillThere is what is left of the user's tags: foreign ones are not ours to show.
func stillThere(ours map[string]string, tags sandbox.Tags) map[string]string {
	left := map[string]string{}
	for key := range ours {
		if value, ok := tags[key]; ok {
			left[key] = value
		}
	}
	return left
}

func pointerIf(s string, present bool) *string {
	if !present {
		return nil
	}
	return &s
}
