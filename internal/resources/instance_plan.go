// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
)

// ModifyPlan refuses what the connection cannot enforce, and decides between
// nothing, an update in place and a replacement. It uses the state, the plan and
// Read's verdict, never the clock. What it plans to make it tries in a dry run.
func (r *instanceResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.connections == nil {
		return
	}
	var plan instanceModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	conn, unknown := r.refuse(plan, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	var configured types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("deployment"), &configured)...)
	plan.Deployment = plannedDeployment(configured, conn)
	if req.State.Raw.IsNull() {
		dryRunCreate(ctx, conn, plan, nil, &resp.Diagnostics)
	} else {
		var state instanceModel
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		remembered := recall(ctx, req.Private, &resp.Diagnostics)
		if resp.Diagnostics.HasError() {
			return
		}
		differing := replacing(state, plan, conn)
		if remembered.Imported {
			differing = adopt(differing, state, &resp.Diagnostics)
		}
		guard(differing, unknown, &resp.Diagnostics)
		if remembered.Due != replacingDue {
			warnUnbuilt(conn, differing, unknown, &resp.Diagnostics)
		}
		if len(differing) > 0 && remembered.Due != replacingDue && !resp.Diagnostics.HasError() {
			dryRunCreate(ctx, conn, plan, differing, &resp.Diagnostics)
		}
		for _, name := range differing {
			resp.RequiresReplace.Append(path.Root(name))
		}
		if resp.Diagnostics.HasError() {
			return
		}
		switch {
		case remembered.Due == replacingDue:
			plan.Handle, plan.CreatedAt, plan.ExpiresAt = types.StringUnknown(), timetypes.NewRFC3339Unknown(), timetypes.NewRFC3339Unknown()
			resp.RequiresReplace.Append(path.Root("expires_at"))
		case len(differing) == 0:
			planRenewal(state, &plan, conn, remembered.Due, &resp.Diagnostics)
		}
	}
	plan.Attachment = plan.attachment(conn)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// plannedDeployment is the marker that a sandbox bears: its own, or else that of
// its connection.
func plannedDeployment(configured types.String, conn *Connection) types.String {
	switch {
	case !configured.IsNull():
		return configured
	case conn == nil:
		return types.StringUnknown()
	}
	return stringOrNull(conn.Deployment())
}

// planRenewal makes unknown what a renewal changes. Whether one is really due
// then, Update finds out.
func planRenewal(state instanceModel, plan *instanceModel, conn *Connection, due due, diags *diag.Diagnostics) {
	renews := due == renewalDue || extends(state, *plan)
	if renews || due == repairDue {
		plan.ExpiresAt = timetypes.NewRFC3339Unknown()
	}
	if !rotates(conn) || !renews && !state.ExpiresAt.IsNull() {
		return
	}
	plan.Handle, plan.CreatedAt, plan.ExpiresAt = types.StringUnknown(), timetypes.NewRFC3339Unknown(), timetypes.NewRFC3339Unknown()
	made := "A new one"
	if due != renewalDue && !state.ExpiresAt.IsNull() && duration(plan.Lifetime) <= duration(state.Lifetime) {
		made = "If the renewal is due by then, a new one" // Update looks at the clock
	}
	diags.AddWarning("Renewal by a new sandbox", fmt.Sprintf(
		"%q cannot move the end of a sandbox. %s takes the place of %s: its handle is another one, and files do not come "+
			"along. The old one is retired: who holds it keeps it until its end (%s), and the janitor takes it once nobody does.",
		conn.Location(), made, state.Handle.ValueString(), state.ExpiresAt.ValueString()))
}

// refuse asks the connection, as far as the plan is known, what it cannot
// enforce. A refusal of something unknown waits until it is known. conn is nil
// when the connection itself is unknown or cannot be opened.
func (r *instanceResource) refuse(plan instanceModel, diags *diag.Diagnostics) (conn *Connection, unknown map[string]bool) {
	spec, unknown := plan.spec()
	if unknown["connection_uri"] {
		return nil, unknown
	}
	conn = r.connections.openAttribute(plan.ConnectionURI, diags)
	if conn == nil {
		return nil, unknown
	}
	for _, refusal := range conn.Backend.Refuse(spec) {
		at := attributePath(refusal.Attribute)
		if root, _, _ := strings.Cut(refusal.Attribute, "."); unknown[root] {
			continue
		}
		diags.AddAttributeError(at, "The connection cannot do this",
			fmt.Sprintf("%q refuses %s: %s", conn.Location(), refusal.Attribute, refusal.Reason))
	}
	return conn, unknown
}

// attributePath turns "network_policy.allow_egress_to" into a path.
func attributePath(dotted string) path.Path {
	root, rest, nested := strings.Cut(dotted, ".")
	at := path.Root(root)
	if nested {
		for name := range strings.SplitSeq(rest, ".") {
			at = at.AtName(name)
		}
	}
	return at
}

// replacing lists the attributes that differ and that a sandbox cannot change
// while it lives. conn is nil while the connection is unknown.
func replacing(state, plan instanceModel, conn *Connection) []string {
	was, is := state.birthmarks(), plan.birthmarks()
	var differing []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if !is[name].Equal(was[name]) {
			differing = append(differing, name)
		}
	}
	if !sameDuration(state.IdleTimeout, plan.IdleTimeout) {
		differing = append(differing, "idle_timeout")
	}
	if conn == nil || !sameLocation(state.ConnectionURI, conn.Connection) {
		differing = append(differing, "connection_uri")
	}
	if conn != nil && !samePolicy(state.NetworkPolicy, plan.NetworkPolicy) && !editsNetwork(conn, state, plan) {
		differing = append(differing, "network_policy")
	}
	return differing
}

// editsNetwork reports whether the connection can hold a living sandbox to the
// planned policy as strongly as a new one. Of an unknown policy it is believed:
// the update finds out, and fails before it changes anything.
func editsNetwork(conn *Connection, state, plan instanceModel) bool {
	editor, ok := conn.Backend.(backend.NetworkEditor)
	if !ok {
		return false
	}
	from, _ := policyOf(state.NetworkPolicy)
	to, known := policyOf(plan.NetworkPolicy)
	return !known || editor.CanSetNetwork(from, to)
}

// birthmarks are the attributes a sandbox is born with, compared as they are
// written.
func (m instanceModel) birthmarks() map[string]attr.Value {
	return map[string]attr.Value{
		"image":          m.Image,
		"workdir":        m.Workdir,
		"env":            m.Env,
		"env_wo_version": m.EnvWOVersion,
		"cpu":            m.CPU,
		"memory_mib":     m.MemoryMiB,
		"gpu":            m.GPU,
		"region":         m.Region,
		"cloud":          m.Cloud,
	}
}

func sameDuration(a, b types.String) bool {
	return a.IsNull() == b.IsNull() && !b.IsUnknown() && duration(a) == duration(b)
}

func sameLocation(uri types.String, conn backend.Connection) bool {
	parsed, err := connect.Parse(uri.ValueString())
	return err == nil && backend.SameLocation(parsed, conn)
}

// adopt takes from differing what an import could not read: the configuration
// is believed there, because replacing a sandbox just imported would defeat it.
func adopt(differing []string, state instanceModel, diags *diag.Diagnostics) []string {
	was := state.birthmarks()
	was["idle_timeout"] = state.IdleTimeout
	var kept, adopted []string
	for _, name := range differing {
		if value, born := was[name]; born && value.IsNull() {
			adopted = append(adopted, name)
			continue
		}
		kept = append(kept, name)
	}
	if len(adopted) > 0 {
		diags.AddWarning("Imported sandbox is believed to be as configured", fmt.Sprintf(
			"%s of an existing sandbox cannot be read. What the configuration says is recorded without a check. "+
				"To be sure, replace the sandbox with `terraform apply -replace=ADDRESS`.", strings.Join(adopted, ", ")))
	}
	return kept
}

// guard stops a plan that would destroy a sandbox before it is known whether the
// next one can be made. An unknown image does not count: it is a reference that
// is made in the same apply, from a sandbox_image. Its build was tried in a dry
// run, or else warnUnbuilt tells how no sandbox is lost to it.
func guard(differing []string, unknown map[string]bool, diags *diag.Diagnostics) {
	if len(differing) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		if name == "image" || name == "env" {
			continue
		}
		diags.AddAttributeError(path.Root(name), "Cannot replace a sandbox for an unknown one", fmt.Sprintf(
			"%s would replace this sandbox, but %s is known only after another resource was applied, and the connection may "+
				"refuse it: the old sandbox would be gone, and no new one made. First apply what %s comes from, with "+
				"`terraform apply -target=ADDRESS`, then plan again.", strings.Join(differing, ", "), name, name))
	}
}

// extends reports whether the plan may move the end of a living sandbox: a
// longer lifetime counts at once, and an earlier renewal may be due already.
func extends(state, plan instanceModel) bool {
	return plan.Lifetime.IsUnknown() || duration(plan.Lifetime) > duration(state.Lifetime) ||
		plan.RenewBefore.IsUnknown() || duration(plan.RenewBefore) > duration(state.RenewBefore)
}
