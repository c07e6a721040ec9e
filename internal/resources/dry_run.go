// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Terraform destroys first and makes second. What can be known to fail must
// therefore fail the plan. That includes what looks like a first creation: a
// replacement forced by -replace is planned as one.

// elsewhereMade is advice for who plans what is not there yet.
const elsewhereMade = "If another resource of this configuration makes it, take its path from an output of that resource, " +
	"so that it is looked for only once it is there."

// dryRunCreate stops a plan whose sandbox could not be made. differing is what
// replaces a living one; nil: there is none. conn is nil while it is unknown.
func dryRunCreate(ctx context.Context, conn *Connection, plan instanceModel, differing []string, diags *diag.Diagnostics) {
	runner, ok := dryRunner(conn)
	if !ok {
		return
	}
	spec, unknown := plan.spec()
	if unknown["image"] || unknown["workdir"] {
		spec = sandbox.Spec{} // what any image needs
	}
	err := conn.once(spec.Image+"\x00"+spec.Workdir, func() error { return runner.DryRunCreate(ctx, spec) })
	switch {
	case err == nil:
	case len(differing) > 0:
		addError(diags, "Sandbox cannot be replaced", fmt.Errorf("%s would replace this sandbox, but no other one can be made. "+
			"It stands as it was.\n\n%w.\n\n%s", strings.Join(differing, ", "), err, elsewhereMade))
	default:
		addError(diags, "Sandbox cannot be created", fmt.Errorf("%w.\n\n%s", err, elsewhereMade))
	}
}

// dryRunBuild stops a plan whose image could not be built, as far as it is known.
func dryRunBuild(ctx context.Context, conn *Connection, plan imageModel, diags *diag.Diagnostics) {
	runner, ok := dryRunner(conn)
	if !ok || !knownThroughout(plan.From) || !knownThroughout(plan.DockerfileCommands) {
		return
	}
	spec := plan.spec()
	if err := runner.DryRunBuildImage(ctx, spec); err != nil {
		addError(diags, fmt.Sprintf("Image cannot be built from %s on %q", spec.From, conn.Location()), fmt.Errorf("%w.\n\n%s", err, elsewhereMade))
	}
}

// dryRunPrepare stops a plan whose place could not be one.
func (r *connectionResource) dryRunPrepare(ctx context.Context, plan connectionModel, diags *diag.Diagnostics) {
	conn, err := r.connections.Open(plan.URI.ValueString())
	if err != nil {
		return // describe has said so
	}
	runner, ok := dryRunner(conn)
	if !ok {
		return
	}
	if err := runner.DryRunPrepare(ctx); err != nil {
		diags.AddAttributeError(path.Root(kind(conn.Scheme)), "Connection cannot be prepared", err.Error())
	}
}

func dryRunner(conn *Connection) (backend.DryRunner, bool) {
	if conn == nil {
		return nil, false
	}
	runner, ok := conn.Backend.(backend.DryRunner)
	return runner, ok
}

// once does what has not succeeded before in this part of a run: a hundred
// sandboxes of one image need one look at it.
func (c *Connection) once(key string, do func() error) error {
	c.mu.Lock()
	done := c.dryRuns[key]
	c.mu.Unlock()
	if done {
		return nil
	}
	if err := do(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dryRuns == nil {
		c.dryRuns = map[string]bool{}
	}
	c.dryRuns[key] = true
	return nil
}
