// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Decide judges every subject and asks the breakers.
func Decide(facts Facts, policy Policy) Plan {
	plan := Plan{Verdicts: make([]Verdict, 0, len(facts.Subjects)), Emptied: facts.emptied()}
	for _, s := range facts.Subjects {
		plan.Verdicts = append(plan.Verdicts, Judge(s, &facts, policy))
	}
	plan.Verdicts = oncePerKey(plan.Verdicts)
	slices.SortFunc(plan.Verdicts, oldestFirst)
	plan.Token = plan.token(facts, policy)
	for _, trips := range breakers {
		if why := trips(plan, facts, policy); why != "" {
			plan.Refused = append(plan.Refused, why)
		}
	}
	return plan
}

// oncePerKey keeps, of several verdicts on one key, the one that spares most: a
// listing that shifted under its reader may show a sandbox twice.
func oncePerKey(verdicts []Verdict) []Verdict {
	slices.SortFunc(verdicts, func(a, b Verdict) int {
		if c := cmp.Or(a.Compare(b.Key), cmp.Compare(a.Outcome, b.Outcome), b.Since.Compare(a.Since)); c != 0 {
			return c
		}
		return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
	})
	return slices.CompactFunc(verdicts, func(a, b Verdict) bool { return a.Key == b.Key })
}

func oldestFirst(a, b Verdict) int {
	undated := func(t time.Time) int {
		if t.IsZero() {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(undated(a.Since), undated(b.Since)),
		a.Since.Compare(b.Since),
		a.Compare(b.Key),
	)
}
