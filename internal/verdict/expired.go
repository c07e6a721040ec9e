// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
)

// expired holds once the recorded expiry and the backend's own end are both
// past. The later of the two counts, because either may have been moved.
var expired = Rule{
	Reason:  "expired",
	Needs:   Clock,
	Mode:    Enforce,
	Grace:   5 * time.Minute,
	Managed: true,
	Judge:   judgeExpired,
}

// notYet is how far ahead of now a creation may lie: clocks differ by less.
const notYet = time.Hour

func judgeExpired(s Subject, facts *Facts) Finding {
	box := s.Sandbox
	switch {
	case box == nil:
		return Finding{}
	case facts.ClockDoubt == "" && box.CreatedAt.After(facts.Now.Add(notYet)):
		return Finding{Holds: Unknown, Doubt: fmt.Sprintf("the backend says it was created at %s, which is yet to come: its end would not be noticed", stamp(box.CreatedAt))}
	case box.ServerEnds.After(facts.Now):
		return Finding{}
	}
	recorded, doubt := readMoment(box, airflow.TagExpiresAt)
	end := later(recorded, box.ServerEnds)
	switch {
	case doubt != "":
		return Finding{Holds: Unknown, Doubt: doubt}
	case end.IsZero() || end.After(facts.Now):
		return Finding{}
	case box.CreatedAt.IsZero():
		return Finding{Holds: Unknown, Doubt: "the backend does not say when it was created, so its end cannot be checked"}
	case facts.ServerEnds && box.ServerEnds.IsZero():
		return Finding{Holds: Unknown, Doubt: "the tag " + airflow.TagExpiresAt + " is past, but the backend does not say when it ends"}
	case end.Before(box.CreatedAt):
		return Finding{Holds: Unknown, Doubt: fmt.Sprintf("its end %s is before its creation %s", stamp(end), stamp(box.CreatedAt))}
	}
	finding := Finding{Holds: Yes, Since: end}
	if !recorded.IsZero() {
		finding.Evidence = append(finding.Evidence, Evidence{"expiry", stamp(recorded), "tag " + airflow.TagExpiresAt})
	}
	if !box.ServerEnds.IsZero() {
		finding.Evidence = append(finding.Evidence, Evidence{"server end", stamp(box.ServerEnds), "backend"})
	}
	return finding
}
