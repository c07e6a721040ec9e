// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package report

import (
	"slices"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// later is the section of what is suspected, or was asked to go and is asked again:
// when, and why not now. What a sweep has dealt with stands under DONE.
func (r Report) later(t *table) {
	s := section{head: []string{"LATER", "ACT", "REASON", "RIPE", "OWNER"}, limit: maxListed}
	for _, c := range r.Connections {
		for _, v := range c.Verdicts {
			waits := v.Outcome == verdict.Suspected || v.Outcome == verdict.BackingOff
			if !waits || slices.ContainsFunc(c.Actions, func(a janitor.Action) bool { return a.Key == v.Key }) {
				continue
			}
			act := v.Act.String()
			if v.Mode == verdict.Report {
				act = v.Mode.String()
			}
			s.add(because(v.Evidence, whyLater(v)), c.Name+"#"+v.Handle, act, string(v.Reason), ripe(v.Ripe, r.Ended), dash(v.Owner))
		}
	}
	s.write(t)
}

func whyLater(v verdict.Verdict) string {
	if v.Outcome == verdict.BackingOff {
		return attempts(v)
	}
	return v.Doubt
}

// ripe is when something may go. What is ripe by its dates waits for one more look.
func ripe(at, now time.Time) string {
	switch {
	case at.IsZero():
		return "at a later look"
	case at.After(now):
		return "in " + cli.Age(at.Sub(now))
	}
	return "at the next look"
}

// unheard is the section of what is taken for alive because its Airflow is another,
// or does not tell of it. Those that it was asked about come first.
func (r Report) unheard(t *table) {
	s := section{head: []string{"NOT TOLD BY AIRFLOW", "OWNER"}, limit: maxListed}
	for _, outcome := range []verdict.Outcome{verdict.Unheard, verdict.Alive} {
		for _, c := range r.Connections {
			for _, v := range c.Verdicts {
				if v.Outcome == outcome {
					s.add(because(v.Evidence, v.Doubt), c.Name+"#"+v.Handle, dash(v.Owner))
				}
			}
		}
	}
	s.write(t)
}
