// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// failedTeardown holds where an end was asked for and did not come: our own
// mark says so, or the backend has been stopping it, or calls it failed. The
// grace counts from the request, not from any expiry. A task that has attached
// since our mark keeps it; the claim of a destroy that was killed does not.
var failedTeardown = Rule{
	Reason:  "failed_teardown",
	Needs:   Clock,
	Mode:    Enforce,
	Grace:   15 * time.Minute,
	Managed: true,
	Judge:   judgeFailedTeardown,
}

func judgeFailedTeardown(s Subject, _ *Facts) Finding {
	box := s.Sandbox
	if box == nil {
		return Finding{}
	}
	asked, doubt := readMoment(box, sandbox.TagTeardownAt)
	switch {
	case doubt != "":
		return Finding{Holds: Unknown, Doubt: doubt}
	case box.CreatedAt.IsZero() && !asked.IsZero():
		return Finding{Holds: Unknown, Doubt: "the backend does not say when it was created, so the teardown mark cannot be checked"}
	case !asked.IsZero() && held(box):
		return Finding{Holds: Unknown, Doubt: "a destroy failed, and " + box.Tags[airflow.TagHolder] + " has it: it goes when it is let go, or past its end"}
	case !asked.IsZero():
		return Finding{Holds: Yes, Since: asked, Evidence: []Evidence{
			{"teardown asked", stamp(asked), "tag " + sandbox.TagTeardownAt},
			{"state", box.State.String(), "backend"},
		}}
	case box.State != sandbox.Stopping && box.State != sandbox.Failed:
		return Finding{}
	case box.StateSince.IsZero():
		return Finding{Holds: Unknown, Doubt: "it is " + box.State.String() + ", and the backend does not say since when"}
	}
	return Finding{Holds: Yes, Since: box.StateSince, Evidence: []Evidence{
		{box.State.String() + " since", stamp(box.StateSince), "backend"},
	}}
}

// held reports whether anybody holds the sandbox but a destroy.
func held(box *sandbox.Sandbox) bool {
	holder, ok := box.Tags[airflow.TagHolder]
	return ok && !sandbox.IsClaim(holder)
}
