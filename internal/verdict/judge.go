// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Judge decides about one subject: protection first, then the rules, then the
// age of its mark. It judges the listing and the fresh read before acting alike.
func Judge(s Subject, facts *Facts, policy Policy) Verdict {
	v, settled := settle(s, facts, policy)
	if settled {
		return v
	}
	best := v
	mark := facts.Marks[v.Key]
	releasing := !mark.Taken.IsZero()
	if releasing {
		best, s = v.releasing(mark, policy), s.heldBy(mark.Claim.Holder)
	}
	for _, rule := range rules {
		if releasing && rule.Needs&Airflow != 0 {
			continue // the one who looks after it asks
		}
		if said := v.hear(rule, s, facts, policy); said.weight() > best.weight() {
			best = said
		}
	}
	return best
}

// settle decides what no rule is heard about.
func settle(s Subject, facts *Facts, policy Policy) (v Verdict, settled bool) {
	v = Verdict{Key: s.Key()}
	if s.Sandbox != nil {
		v.Owner = s.Sandbox.Tags[airflow.TagOwner]
	}
	if gone := facts.Marks[v.Key].Gone; !gone.IsZero() {
		v.Outcome, v.Doubt = Ended, "it was absent by id at "+stamp(gone)+"; the listing lags"
		return v, true
	}
	if why := policy.protection(s, facts.certain()); why != "" {
		v.Outcome, v.Doubt = Protected, why
		return v, true
	}
	v.Outcome, v.Doubt = bar(s)
	return v, v.Outcome != Alive
}

// releasing is the verdict on what a run was taking a claim off without coming to
// see whether that was right. Its task may live, with nothing to show for it: until
// that is known it counts as held.
func (v Verdict) releasing(mark Mark, policy Policy) Verdict {
	v.Outcome, v.Reason, v.Mode, v.Act, v.Claim = Suspected, staleHolder.Reason, policy.mode(staleHolder), Release, mark.Claim
	v.Doubt = fmt.Sprintf("the claim of %s was being released at %s, and whether that was right is not known: the next sweep looks", mark.Claim.Holder, stamp(mark.Taken))
	return v
}

// heldBy is the subject as it would be with that claim, where there is no other.
func (s Subject) heldBy(holder string) Subject {
	if s.Sandbox == nil || airflow.Holder(s.Sandbox.Tags) != "" {
		return s
	}
	claimed := *s.Sandbox
	claimed.Tags = claimed.Tags.Clone()
	claimed.Tags[airflow.TagHolder] = holder
	return Subject{Sandbox: &claimed}
}

// hear returns the verdict as it would be if rule were the only one.
func (v Verdict) hear(rule Rule, s Subject, facts *Facts, policy Policy) Verdict {
	finding, suspended := rule.ask(s, facts)
	v.Doubt, v.Evidence = finding.Doubt, finding.Evidence
	if finding.Holds == No {
		return v
	}
	v.Reason, v.Mode, v.Act, v.Claim = rule.Reason, policy.mode(rule), rule.Act, finding.Claim
	v.Dated, v.Since = !finding.Undated, finding.Since
	switch {
	case suspended:
		v.Outcome = Suspected
		return v
	case finding.Holds == Unknown && rule.Needs&Airflow != 0:
		v.Outcome = Unheard
		return v
	case finding.Holds == Unknown:
		v.Outcome = Unjudged
		return v
	}
	return v.age(policy.grace(rule), finding.Looks, facts)
}

// weight decides between the rules: one that may act, now or later, is heard
// before one that only reports, one that may act now before one that must wait,
// and of equal ones the first in precedence. So a reason that is only reported
// never takes the mark that one which is enforced needs.
func (v Verdict) weight() int {
	switch enforced := int(v.Mode); {
	case v.Outcome == Alive && v.Doubt == "":
		return 0
	case v.Outcome == Alive:
		return 1
	case v.Outcome == Unheard:
		return 2 + enforced
	case v.Outcome == Unjudged:
		return 4 + enforced
	case v.Outcome == Suspected && v.Ripe.IsZero():
		return 6 + enforced
	case v.Outcome != Condemned:
		return 8 + 2*enforced
	default:
		return 9 + 2*enforced
	}
}

// bar says what keeps a subject from every rule; Alive: nothing does.
func bar(s Subject) (Outcome, string) {
	if s.Leftover != nil {
		if s.Leftover.Problem != "" {
			return Unjudged, s.Leftover.Problem
		}
		return Alive, ""
	}
	switch box := s.Sandbox; {
	case box.Problem != "":
		return Unjudged, box.Problem
	case box.State == sandbox.Ended:
		return Ended, ""
	case !box.TagsKnown:
		return Unjudged, "the backend did not say which tags it has"
	case !ours(box.Tags):
		return Foreign, ""
	}
	return Alive, ""
}

// ours reports whether Airflow or we made the sandbox. A name alone is no proof.
func ours(tags sandbox.Tags) bool {
	for _, key := range [...]string{
		airflow.TagSandbox, airflow.TagExpiresAt,
		sandbox.TagManagedBy, sandbox.TagAttempt, sandbox.TagTeardownAt,
	} {
		if _, ok := tags[key]; ok {
			return true
		}
	}
	return false
}

// ask applies the rule within its limits. suspended means that it would hold,
// but something it needs is missing.
func (r Rule) ask(s Subject, facts *Facts) (finding Finding, suspended bool) {
	if !r.Managed && s.Sandbox != nil && s.Sandbox.Tags[sandbox.TagManagedBy] == sandbox.ManagedByTerraform {
		return Finding{Evidence: []Evidence{{"managed by", sandbox.ManagedByTerraform, "tag " + sandbox.TagManagedBy}}}, false
	}
	finding = r.Judge(s, facts)
	if finding.Holds != Yes {
		return finding, false
	}
	switch {
	case r.Needs&Clock != 0 && facts.ClockDoubt != "":
		finding.Doubt = facts.ClockDoubt
	case r.Needs&Complete != 0 && !facts.Complete:
		finding.Doubt = "the look was not complete"
	default:
		return finding, false
	}
	finding.Holds = Unknown
	return finding, true
}

// age weighs the age of a proof, and what is remembered of its subject. looks is
// as Finding.Looks.
func (v Verdict) age(grace time.Duration, looks Looks, facts *Facts) Verdict {
	mark := facts.Marks[v.Key]
	first, seen := facts.Now, false
	if mark.agrees(v) {
		first, seen = mark.First, mark.Looks > 0
	}
	v.Attempts, v.Error = mark.Attempts, mark.LastError
	if v.Since.IsZero() {
		v.Since = first
	}
	v.Ripe = v.Since.Add(grace)
	switch {
	case looks == AllGraceLooks:
		v.Ripe = later(v.Ripe, first.Add(grace))
	case looks == OneLook && !seen:
		v.Ripe = later(v.Ripe, facts.Now)
	}
	if mark.Looks > 0 {
		v.Evidence = append(v.Evidence, Evidence{"looks before", fmt.Sprintf("%d since %s", mark.Looks, stamp(mark.First)), "janitor"})
	}
	switch {
	case mark.Attempts >= MaxAttempts:
		v.Outcome = Quarantined
	case facts.wentBack():
		v.Outcome, v.Ripe = Suspected, later(v.Ripe, facts.Now)
		v.Doubt = fmt.Sprintf("the clock went back since the look at %s, so this one only marks", stamp(facts.lastRead()))
	case facts.longAgo() && v.Ripe.After(facts.certain()):
		v.Outcome, v.Ripe = Suspected, later(v.Ripe, facts.Now)
		v.Doubt = fmt.Sprintf("the last look was long ago, at %s, and since then it only is marked", stamp(facts.LastLook))
	case facts.Now.Before(v.Ripe):
		v.Outcome = Suspected
	case looks != NoLook && !seen:
		v.Outcome, v.Doubt = Suspected, "one more complete look must agree"
	case facts.Now.Before(mark.Next):
		v.Outcome, v.Ripe = BackingOff, mark.Next
	default:
		v.Outcome = Condemned
	}
	return v
}

// clockTolerance is how far two clocks, or one before and after a correction,
// may differ without meaning.
const clockTolerance = time.Minute

// wentBack reports whether time itself is in doubt, so that this look only marks
// and begins the age of every mark anew.
func (f *Facts) wentBack() bool { return f.Now.Before(f.lastRead().Add(-clockTolerance)) }

func (f *Facts) lastRead() time.Time { return later(f.LastLook, f.LookBegan) }

// longGap is longer than any schedule that looks often has between two looks: a
// weekly one fits.
const longGap = 8 * 24 * time.Hour

// longAgo reports whether the last look was so long ago that the clock may as
// well have been set forward, which one clock cannot tell.
func (f *Facts) longAgo() bool { return !f.LastLook.IsZero() && f.Now.Sub(f.LastLook) > longGap }

// certain is the latest moment that has certainly come. After a long gap that is
// the last look: only what was ripe by then may go, so that a place that is
// looked at once a month is a month late, and no more.
func (f *Facts) certain() time.Time {
	if f.longAgo() {
		return f.LastLook
	}
	return f.Now
}
