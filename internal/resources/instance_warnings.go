// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// clockSlack is how far two clocks may differ before a person is told.
const clockSlack = 5 * time.Minute

// warnUnreadable tells of a sandbox of which only its presence is known. It is no
// error: that would stop the plan of every other resource, too.
func warnUnreadable(attempt string, found sandbox.Sandbox, diags *diag.Diagnostics) {
	diags.AddWarning(attempt, fmt.Sprintf("%s.\n\nThe sandbox stays in the state as it was. It can be neither changed nor destroyed, and "+
		"the janitor leaves it alone. Restore what is named above; or, when nothing in the sandbox is needed any more, remove its "+
		"whole directory with `rm -r`, and the next plan finds it gone.", found.Problem))
}

// warnReplaced says why a sandbox that is there is planned anew.
func warnReplaced(state instanceModel, found sandbox.Sandbox, diags *diag.Diagnostics) {
	_, marked := found.Tags[sandbox.TagTeardownAt]
	switch handle := state.Handle.ValueString(); {
	case marked, found.State == sandbox.Stopping:
		diags.AddWarning("Teardown of a sandbox is half done", fmt.Sprintf(
			"Somebody began to destroy sandbox %s, and it is still there. The next apply finishes that and makes another one.", handle))
	case found.State == sandbox.Failed:
		diags.AddWarning("Sandbox failed", fmt.Sprintf(
			"Sandbox %s runs nothing any more: the backend calls it %q. The next apply destroys it and makes another one.", handle, found.StateWord))
	default:
		diags.AddWarning("Sandbox is past its end", fmt.Sprintf(
			"Sandbox %s ended at %s and runs nothing any more. The next apply destroys it and makes another one.",
			handle, state.ExpiresAt.ValueString()))
	}
}

// warnDamaged says why an update is planned in which no attribute seems to differ.
func warnDamaged(handle string, keys []string, diags *diag.Diagnostics) {
	diags.AddWarning("Tags of a sandbox were changed", fmt.Sprintf(
		"Sandbox %s does not bear %s as Terraform writes it. The next apply does so again.", handle, strings.Join(keys, ", ")))
}

// warnStrays tells of sandboxes that nothing in Terraform leads to any more.
func warnStrays(handle string, strays []sandbox.Ref, diags *diag.Diagnostics) {
	for _, stray := range strays {
		diags.AddWarning("Renewal was cut off", fmt.Sprintf(
			"Sandbox %s was made to take the place of %s, but Terraform was killed before it could save that. "+
				"The renewal or destroy of %s that comes next retires it, and the janitor takes it.", stray.Handle, handle, handle))
	}
}

// warnOrphans tells of strays of a sandbox that has ended meanwhile, so that none
// of its later renewals can retire them.
func warnOrphans(uri string, strays []sandbox.Ref, diags *diag.Diagnostics) {
	for _, stray := range strays {
		diags.AddWarning("Renewal was cut off", fmt.Sprintf(
			"Sandbox %[2]s was made to take the place of this one, but Terraform was killed before it could save that. To take it over, "+
				"run `terraform apply -refresh-only` and then `terraform import ADDRESS '%[1]s#%[2]s'`. Otherwise it stands until its "+
				"end, or until you run `sandbox rm '%[1]s' %[2]s`.", uri, stray.Handle))
	}
}

// warnLateEnd tells of an end that no apply of this lifetime has set. Nothing is
// done about it: it may as well be the clock of this host that is wrong.
func (r *instanceResource) warnLateEnd(state instanceModel, found sandbox.Sandbox, diags *diag.Diagnostics) {
	now, lifetime, expiry := r.connections.Clock.Now(), duration(state.Lifetime), endOf(found)
	switch handle := state.Handle.ValueString(); {
	case found.CreatedAt.After(now.Add(clockSlack)):
		diags.AddWarning("Sandbox was made in the future", fmt.Sprintf(
			"Sandbox %s was made at %s, but it is %s now: one of the two clocks was or is wrong. When that of this host is right, "+
				"replace the sandbox with `terraform apply -replace=ADDRESS`, or it stands until %s.",
			handle, state.CreatedAt.ValueString(), momentValue(now).ValueString(), state.ExpiresAt.ValueString()))
	case lifetime > 0 && expiry.After(now.Add(lifetime+clockSlack)):
		diags.AddWarning("Sandbox ends later than its lifetime says", fmt.Sprintf(
			"Sandbox %s ends at %s, which is more than its lifetime of %s away. It was given a longer one before, somebody moved its "+
				"end, or a clock was wrong. To have it end sooner, replace it with `terraform apply -replace=ADDRESS`.",
			handle, state.ExpiresAt.ValueString(), lifetime))
	}
}

// unfinished says what is to be done about a sandbox that could not be destroyed.
// marked is why it could not be marked for teardown either; nil: it is.
func unfinished(failure, marked error) error {
	switch {
	case marked == nil:
		return fmt.Errorf("%w.\n\nIt stays in the state and is marked for teardown (%s). Run the same command again, "+
			"or leave it to the janitor", failure, sandbox.TagTeardownAt)
	case errors.Is(failure, backend.ErrInvalid): // nobody can read it
		return fmt.Errorf("%w.\n\nIt stays in the state. Neither the janitor nor this command takes it before that is done", failure)
	}
	return fmt.Errorf("%w.\n\nIt stays in the state. It could not be marked for teardown either (%v), so the janitor "+
		"takes it only after its expiry. Run the same command again", failure, marked)
}
