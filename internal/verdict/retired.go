// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// retired holds for what Terraform has replaced and nobody holds. When a holder
// left is written down nowhere, and the tasks of one run come and go: for the
// whole grace, no look may have met one.
var retired = Rule{
	Reason:  "retired",
	Needs:   Clock,
	Mode:    Enforce,
	Grace:   time.Hour,
	Managed: true,
	Judge:   judgeRetired,
}

func judgeRetired(s Subject, _ *Facts) Finding {
	box := s.Sandbox
	if box == nil {
		return Finding{}
	}
	if _, held := box.Tags[airflow.TagHolder]; held {
		return Finding{}
	}
	replaced, doubt := readMoment(box, sandbox.TagRetiredAt)
	switch {
	case doubt != "":
		return Finding{Holds: Unknown, Doubt: doubt}
	case replaced.IsZero():
		return Finding{}
	case box.CreatedAt.IsZero():
		return Finding{Holds: Unknown, Doubt: "the backend does not say when it was created, so when it was replaced cannot be checked"}
	}
	return Finding{Holds: Yes, Since: replaced, Looks: AllGraceLooks, Evidence: []Evidence{
		{"replaced", stamp(replaced), "tag " + sandbox.TagRetiredAt},
		{"holder", "none", "tag " + airflow.TagHolder},
	}}
}
