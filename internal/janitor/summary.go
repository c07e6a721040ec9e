// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"slices"

	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// unconfirmed are the marks of what was asked to go and was not seen by this
// look, or only as something the backend remembers.
func (p *place) unconfirmed() []verdict.Verdict {
	if p.look.Nothing || len(p.plan.Refused) > 0 {
		return nil
	}
	there := make(map[verdict.Key]bool)
	for _, v := range p.plan.Verdicts {
		there[v.Key] = v.Outcome != verdict.Ended
	}
	var asked []verdict.Verdict
	for key, mark := range p.marks {
		if !mark.Asked.IsZero() && mark.Gone.IsZero() && !there[key] {
			asked = append(asked, verdict.Verdict{Key: key, Reason: mark.Reason})
		}
	}
	slices.SortFunc(asked, func(a, b verdict.Verdict) int { return a.Compare(b.Key) })
	return asked
}

// unfinished are the releases that an earlier run began, of what is to stay.
func (p *place) unfinished() []verdict.Verdict {
	if p.look.Nothing {
		return nil
	}
	var begun []verdict.Verdict
	for key, mark := range p.known.Marks {
		goes := mark.Asked.After(mark.Taken) || slices.ContainsFunc(p.chosen, func(v verdict.Verdict) bool { return v.Key == key })
		if !mark.Taken.IsZero() && mark.Gone.IsZero() && !goes {
			begun = append(begun, verdict.Verdict{Key: key, Reason: mark.Reason, Act: verdict.Release, Claim: mark.Claim})
		}
	}
	slices.SortFunc(begun, func(a, b verdict.Verdict) int { return a.Compare(b.Key) })
	return begun
}

// standing is how many of the listed sandboxes should still be there: those
// that have not ended and whose end was not asked for.
func (p *place) standing() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	standing := p.facts.Listed - p.counts.Ended
	for _, v := range p.plan.Verdicts {
		mark := p.marks[v.Key]
		if asked := !mark.Asked.IsZero() || !mark.Gone.IsZero(); asked && !v.Leftover && v.Outcome != verdict.Ended {
			standing--
		}
	}
	return standing
}

// tally counts a verdict that needs nothing further, and reports whether it is one.
func (p *place) tally(v verdict.Verdict) bool {
	c := &p.counts
	switch v.Outcome {
	case verdict.Alive, verdict.Unheard:
		c.Alive++
		if p.unheard(v) {
			c.Unheard++
		}
	case verdict.Ended:
		c.Ended++
	case verdict.Protected:
		c.Protected++
	case verdict.Foreign:
		c.Foreign++
	default:
		return false
	}
	return true
}

// unheard reports whether something is taken for alive because its Airflow is
// another, or does not tell of it.
func (p *place) unheard(v verdict.Verdict) bool {
	return (v.Outcome == verdict.Alive || v.Outcome == verdict.Unheard) && v.Doubt != "" && p.Policy.Airflow.Name != ""
}

// count adds the plan to what was counted while looking.
func (p *place) count() {
	c := &p.counts
	c.Listed = p.facts.Listed + p.facts.Leftovers
	for _, v := range p.plan.Verdicts {
		switch {
		case p.tally(v):
		case v.Outcome == verdict.Condemned && v.Mode == verdict.Enforce && v.Act == verdict.Release:
			c.Release++
		case v.Outcome == verdict.Condemned && v.Mode == verdict.Enforce:
			c.Reclaim++
		case v.Outcome == verdict.Condemned:
			c.Report++
		case v.Outcome == verdict.Unjudged, v.Outcome == verdict.Quarantined:
			c.NeedsYou++
		default:
			c.Later++
		}
	}
}

func (r *run) result() Result {
	result := Result{
		RunID:   r.id,
		Started: r.started,
		Ended:   r.Clock.Now(),
		Stopped: r.stopped(),
	}
	for _, p := range r.places {
		result.Connections = append(result.Connections, p.result())
	}
	result.Exit = result.exit()
	return result
}

func (p *place) result() ConnectionResult {
	c := ConnectionResult{
		Name:    p.Name,
		Look:    p.look,
		Airflow: p.hearing,
		Counts:  p.counts,
		Refused: p.plan.Refused,
		Emptied: p.plan.Emptied,
		Token:   p.plan.Token,
		Actions: p.actions,
		OverCap: p.overCap,
	}
	if p.Backend != nil {
		c.Scope = p.Backend.Scope()
	}
	gone := make(map[verdict.Key]bool)
	for _, a := range p.actions {
		if a.Result == Reclaimed || a.Result == Vanished {
			gone[a.Key] = true
		}
	}
	for _, v := range p.plan.Verdicts {
		silent := p.hearing != nil && p.hearing.Error != "" && v.Outcome == verdict.Unheard
		if silent || v.Outcome < verdict.Unheard && !p.unheard(v) {
			continue
		}
		c.Verdicts = append(c.Verdicts, v)
		leaks := v.Outcome >= verdict.BackingOff && v.Act == verdict.Destroy && !gone[v.Key]
		if leaks && (c.OldestLeak.IsZero() || v.Since.Before(c.OldestLeak)) {
			c.OldestLeak = v.Since
		}
	}
	return c
}

// exit is the worst that happened.
func (r Result) exit() Exit {
	unreadable, refused, partial := len(r.Connections) > 0, false, r.Stopped || r.Unsaved != ""
	for _, c := range r.Connections {
		unreadable = unreadable && c.Look.Nothing
		refused = refused || len(c.Refused) > 0
		partial = partial || !c.Look.Complete || c.Airflow != nil && c.Airflow.Error != "" || c.Counts.NeedsYou > 0 || slices.ContainsFunc(c.Actions, Action.unfinished)
	}
	switch {
	case unreadable:
		return ExitUnreadable
	case refused:
		return ExitRefused
	case partial:
		return ExitPartial
	}
	return ExitClean
}

// unfinished reports whether the action is less than the run set out to do.
func (a Action) unfinished() bool { return a.Result == Failed || a.Result == Postponed }
