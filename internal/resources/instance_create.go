// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Create makes one sandbox. Nothing waits after the one call that makes it:
// what exists is in the state, and what is not in the state does not exist. An
// interrupted call is cleared up by backend.Create, on a context of its own.
func (r *instanceResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config instanceModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	conn, _ := r.refuse(plan, &resp.Diagnostics)
	timeout, d := plan.Timeouts.Create(ctx, defaultTimeout)
	resp.Diagnostics.Append(d...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	identity, err := preparedIdentity(ctx, conn)
	if err != nil {
		addError(&resp.Diagnostics, "Sandbox was not created", err)
		return
	}
	ref, err := r.make(ctx, conn, &plan, config, "")
	if err != nil {
		addError(&resp.Diagnostics, fmt.Sprintf("Sandbox was not created on %q", conn.Location()), err)
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, plan.identity(conn))...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	memory{Identity: identity, Incarnation: ref.Incarnation}.keep(ctx, resp.Private, &resp.Diagnostics)
}

// make makes the sandbox that plan asks for, and sets what is known of it then.
// Only config holds what is never stored. replaces is the handle of the sandbox
// whose place it takes; empty: none.
func (r *instanceResource) make(ctx context.Context, conn *Connection, plan *instanceModel, config instanceModel, replaces string) (sandbox.Ref, error) {
	spec, _ := plan.spec()
	spec.Workdir = plan.workdir(conn)
	spec.Env = merged(spec.Env, mapStrings(config.EnvWO))
	request := backend.NewRequest(spec, nil, r.connections.Clock.Now())
	stamp, err := plan.stamp(conn, request.ExpiresAt)
	if err != nil {
		return sandbox.Ref{}, err
	}
	stamp.write(request.Tags, nil)
	request.Tags[airflow.TagSandbox] = request.Name
	setOrDelete(request.Tags, sandbox.TagReplaces, replaces)

	made, err := backend.Create(ctx, conn.Backend, request)
	if err != nil {
		return sandbox.Ref{}, refusedTag(err, request.Tags)
	}
	conn.Snapshot.Forget(made.Ref)
	plan.Handle = types.StringValue(made.Handle)
	plan.CreatedAt = momentValue(orElse(made.CreatedAt, r.connections.Clock.Now()))
	plan.ExpiresAt = momentValue(end(request.ExpiresAt, made.ServerEnds))
	plan.Attachment = plan.attachment(conn)
	return made.Ref, nil
}

// preparedIdentity makes what must exist at the place and asks who it is, before
// a sandbox is made there.
func preparedIdentity(ctx context.Context, conn *Connection) (string, error) {
	if err := conn.Prepare(ctx); err != nil {
		return "", err
	}
	return conn.Witness(ctx, "")
}

func merged(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	if all == nil {
		return b
	}
	maps.Copy(all, b)
	return all
}

// end is the earlier of the expiry tag and the backend's own end, as far as
// either is known.
func end(tag, server time.Time) time.Time {
	if tag.IsZero() || !server.IsZero() && server.Before(tag) {
		return server
	}
	return tag
}

// endOf is the end of a sandbox as far as a read tells.
func endOf(s sandbox.Sandbox) time.Time {
	tag, err := airflow.ParseExpiry(s.Tags[airflow.TagExpiresAt])
	if err != nil {
		tag = time.Time{}
	}
	return end(tag, s.ServerEnds)
}

func orElse(t, other time.Time) time.Time {
	if t.IsZero() {
		return other
	}
	return t
}
