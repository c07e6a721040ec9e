// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestWhatIsRememberedHoldsBackWhatWouldGo(t *testing.T) {
	cases := []struct {
		name string
		mark Mark
		want Outcome
	}{
		{"nothing", Mark{}, Condemned},
		{"asked, and the wait is over", Mark{Reason: "expired", First: noon, Attempts: 1, Next: noon}, Condemned},
		{"asked, and the wait is not over", Mark{Reason: "expired", First: noon, Attempts: 1, Next: noon.Add(time.Second)}, BackingOff},
		{"asked for another reason, and the wait is not over", Mark{Reason: "failed_teardown", First: noon, Attempts: 1, Next: noon.Add(time.Second)}, BackingOff},
		{"asked four times", Mark{Reason: "expired", First: noon, Attempts: 4}, Condemned},
		{"asked five times", Mark{Reason: "expired", First: noon, Attempts: 5, LastError: "denied"}, Quarantined},
		{"absent by id a moment ago", Mark{Reason: "expired", First: noon, Gone: noon.Add(-time.Minute)}, Ended},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := running(expiredAt(noon.Add(-time.Hour)))
			facts := looked(s)
			if c.mark.Reason != "" {
				facts.Marks = Marks{s.Key(): c.mark}
			}
			v := Judge(s, &facts, enforced())
			if v.Outcome != c.want || v.Attempts != c.mark.Attempts || v.Error != c.mark.LastError {
				t.Errorf("judged %+v, want %s", v, c.want)
			}
		})
	}
}

func TestALookAtWhichTimeIsInDoubtOnlyMarks(t *testing.T) {
	for _, c := range []struct {
		name string
		last time.Time
		want Outcome
	}{
		{"ten minutes after the last", noon.Add(-10 * time.Minute), Condemned},
		{"the first of all", time.Time{}, Condemned},
		{"a long gap, and it was alive at the last", noon.Add(-9 * 24 * time.Hour), Suspected},
		{"the clock went back", noon.Add(2 * time.Minute), Suspected},
		{"the clock was put right by a little", noon.Add(30 * time.Second), Condemned},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := running(expiredAt(noon.Add(-time.Hour)))
			facts := looked(s)
			facts.LastLook = c.last
			v := check(t, s, facts, enforced(), c.want, "expired")
			if (v.Doubt != "") != (c.want == Suspected) {
				t.Errorf("doubt %q", v.Doubt)
			}
			marks := Remember(facts, Decide(facts, enforced()))
			mark, marked := marks[s.Key()]
			if trusted := c.name != "the clock went back"; !marked || mark.First.Equal(noon) != trusted || mark.Looks > 0 != trusted {
				t.Errorf("remembered as %+v", mark)
			}
		})
	}
}

func TestAfterALongGapGoesWhatWasRipeAtTheLastLook(t *testing.T) {
	const month = 31 * 24 * time.Hour
	box := func(end time.Duration) Subject {
		return running(func(b *sandbox.Sandbox) {
			b.CreatedAt = noon.Add(-4 * month)
			expiredAt(noon.Add(-end))(b)
		})
	}
	protected := box(month + time.Hour)
	protected.Sandbox.Tags[sandbox.TagProtect] = unix(noon.Add(-24 * time.Hour))
	left := leftover(func(l *sandbox.Leftover) {
		l.CreatedAt, l.ChangedAt = noon.Add(-4*month), noon.Add(-4*month)
	})
	seen := func(ago time.Duration, looks int) Mark {
		return Mark{Reason: "orphaned_workspace", First: noon.Add(-ago), Looks: looks}
	}
	for _, c := range []struct {
		name string
		s    Subject
		mark Mark
		want Outcome
	}{
		{"expired before it", box(month + time.Hour), Mark{}, Condemned},
		{"expired before it, but within the grace", box(month + time.Minute), Mark{}, Suspected},
		{"expired before it, and protected until a day ago", protected, Mark{}, Protected},
		{"expired since", box(month - time.Hour), Mark{}, Suspected},
		{"left behind, and never seen", left, Mark{}, Suspected},
		{"left behind, and first seen by it", left, seen(month, 1), Suspected},
		{"left behind, and seen twice", left, seen(2*month, 2), Condemned},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := looked(c.s)
			facts.LastLook = noon.Add(-month)
			if c.mark.Reason != "" {
				facts.Marks = Marks{c.s.Key(): c.mark}
			}
			v := Judge(c.s, &facts, enforced())
			if v.Outcome != c.want || (v.Doubt == "") != (c.want == Condemned) {
				t.Errorf("judged %+v, want %s", v, c.want)
			}
			if c.want == Protected {
				return
			}
			if mark := Remember(facts, Decide(facts, enforced()))[c.s.Key()]; mark.Looks != c.mark.Looks+1 {
				t.Errorf("this look does not count for the next: %+v", mark)
			}
		})
	}
}

func TestNothingIsBelievedOfAClockInDoubt(t *testing.T) {
	box := running(expiredAt(noon.Add(-time.Hour)))
	torn := running(func(b *sandbox.Sandbox) {
		b.Handle = "torn"
		b.Tags[sandbox.TagTeardownAt] = unix(noon.Add(-time.Hour))
	})
	facts := looked(box, torn)
	facts.ClockDoubt = "the clocks are an hour apart"
	plan := Decide(facts, enforced())
	if len(plan.Condemned()) != 0 || len(plan.Refused) != 1 || plan.Refused[0] != facts.ClockDoubt {
		t.Errorf("condemned %v, refused %q", plan.Condemned(), plan.Refused)
	}
	for _, v := range plan.Verdicts {
		if v.Outcome != Suspected || v.Doubt != facts.ClockDoubt {
			t.Errorf("%s is %s: %s", v.Handle, v.Outcome, v.Doubt)
		}
	}
	if marks := Remember(facts, plan); len(marks) != 0 {
		t.Errorf("marked %v", marks)
	}
}

func TestSkewLimitIsHalfOfTheShortestGrace(t *testing.T) {
	if got := (Policy{}).SkewLimit(); got != 150*time.Second {
		t.Errorf("by default %s", got)
	}
	if got := (Policy{Graces: map[Reason]time.Duration{"failed_teardown": time.Minute}}).SkewLimit(); got != 30*time.Second {
		t.Errorf("with a grace of a minute %s", got)
	}
}

func orphans(n int) ([]Subject, Marks) {
	var subjects []Subject
	marks := make(Marks)
	for i := range n {
		s := leftover(func(l *sandbox.Leftover) { l.Handle = fmt.Sprintf("left-%d", i) })
		subjects = append(subjects, s)
		marks[s.Key()] = marked("orphaned_workspace")
	}
	return subjects, marks
}

func TestShareBreakerStopsUndatedDeletionsBeyondTheShare(t *testing.T) {
	for _, c := range []struct {
		orphans, others int
		trips           bool
	}{{2, 6, false}, {3, 5, true}, {7, 0, false}, {8, 0, true}, {25, 75, false}, {26, 74, true}} {
		subjects, marks := orphans(c.orphans)
		facts := looked(subjects...)
		facts.Marks, facts.Leftovers, facts.Listed, facts.LastCount = marks, c.orphans, c.others, c.others
		plan := Decide(facts, enforced())
		if trips := len(plan.Refused) > 0; trips != c.trips {
			t.Errorf("%d of %d: %q", c.orphans, c.orphans+c.others, plan.Refused)
		}
		if c.trips && len(plan.Condemned()) > 0 {
			t.Error("something goes although the breaker tripped")
		}
	}
}

func TestShareBreakerCountsNothingWithADateOfItsOwn(t *testing.T) {
	var subjects []Subject
	for i := range 100 {
		subjects = append(subjects, running(func(b *sandbox.Sandbox) {
			b.Handle = fmt.Sprintf("box-%d", i)
			expiredAt(noon.Add(-time.Hour))(b)
		}))
	}
	plan := Decide(looked(subjects...), enforced())
	if len(plan.Refused) > 0 || plan.Token != "" || len(plan.Condemned()) != 100 {
		t.Errorf("refused %q, token %q", plan.Refused, plan.Token)
	}
}

func TestShareBreakerCountsNothingThatIsOnlyReported(t *testing.T) {
	subjects, marks := orphans(20)
	facts := looked(subjects...)
	facts.Marks, facts.Leftovers, facts.Listed, facts.LastCount = marks, 20, 0, 0
	policy := enforced()
	policy.Modes = nil
	if plan := Decide(facts, policy); len(plan.Refused) > 0 || plan.Token != "" {
		t.Errorf("refused %q", plan.Refused)
	}
}

func TestTokenPassesExactlyTheSetItNames(t *testing.T) {
	subjects, marks := orphans(20)
	decide := func(n int, policy Policy) Plan {
		facts := looked(subjects[:n]...)
		facts.Marks, facts.Leftovers, facts.Listed, facts.LastCount = marks, n, 0, 0
		return Decide(facts, policy)
	}
	policy := enforced()
	refused := decide(20, policy)
	if len(refused.Refused) != 1 || len(refused.Token) != 16 {
		t.Fatalf("refused %q, token %q", refused.Refused, refused.Token)
	}
	policy.Accept = refused.Token
	if passed := decide(20, policy); len(passed.Condemned()) != 20 {
		t.Errorf("the token does not pass its set: %q", passed.Refused)
	}
	if other := decide(19, policy); len(other.Condemned()) != 0 {
		t.Error("the token passes another set")
	}
	elsewhere := policy
	elsewhere.Connection = "prod"
	if other := decide(20, elsewhere); len(other.Condemned()) != 0 {
		t.Error("the token passes the same set of another connection")
	}
}

func TestAnEmptyListIsBelievedOnlyAtTheSecondLook(t *testing.T) {
	s := leftover(func(*sandbox.Leftover) {})
	gone := running(func(*sandbox.Sandbox) {}).Key()
	facts := looked(s)
	facts.Listed, facts.Leftovers, facts.LastCount = 0, 1, 5
	facts.Marks = Marks{s.Key(): marked("orphaned_workspace"), gone: marked("expired")}
	plan := Decide(facts, enforced())
	if len(plan.Refused) != 1 || len(plan.Condemned()) != 0 {
		t.Errorf("refused %q", plan.Refused)
	}
	if marks := Remember(facts, plan); len(marks) != 2 || marks[gone] != facts.Marks[gone] || marks[s.Key()].Looks != 2 {
		t.Errorf("the look that saw nothing changed the marks: %v", marks)
	}
	facts.LastCount = 0
	plan = Decide(facts, enforced())
	if len(plan.Refused) != 0 || len(plan.Condemned()) != 1 {
		t.Errorf("at the second look: refused %q", plan.Refused)
	}
}

func TestOldestGoesFirst(t *testing.T) {
	at := func(handle string, d time.Duration) Subject {
		return running(func(b *sandbox.Sandbox) { b.Handle = handle; expiredAt(noon.Add(-d))(b) })
	}
	unread := running(func(b *sandbox.Sandbox) { b.Handle = "a"; b.Problem = "torn" })
	plan := Decide(looked(unread, at("d", time.Hour), at("c", 3*time.Hour), at("b", time.Hour)), enforced())
	var order []string
	for _, v := range plan.Verdicts {
		order = append(order, v.Handle)
	}
	if got := strings.Join(order, ""); got != "cbda" {
		t.Errorf("order %s", got)
	}
}

func TestWhatIsListedTwiceIsJudgedByWhatSparesIt(t *testing.T) {
	dead, renewed := running(expiredAt(noon.Add(-time.Hour))), running(expiredAt(noon.Add(time.Hour)))
	for _, subjects := range [][]Subject{{dead, renewed}, {renewed, dead}} {
		if plan := Decide(looked(subjects...), enforced()); len(plan.Verdicts) != 1 || plan.Verdicts[0].Outcome != Alive {
			t.Errorf("judged %v", plan.Verdicts)
		}
	}
}

func TestExplainTellsWhatEveryRuleSays(t *testing.T) {
	s := running(func(b *sandbox.Sandbox) {
		expiredAt(noon.Add(-time.Hour))(b)
		b.Tags[sandbox.TagProtect] = "yes"
		b.Tags[sandbox.TagTeardownAt] = "soon"
	})
	facts := looked(s)
	e := Explain(s, &facts, enforced())
	if e.Outcome != Protected || e.Protection == "" || len(e.Checks) != len(Rules()) {
		t.Fatalf("explained as %+v", e)
	}
	for i, want := range []Truth{Yes, Unknown, No} {
		if e.Checks[i].Holds != want || (want == Unknown) != (e.Checks[i].Doubt != "") {
			t.Errorf("%s: %s, %q", e.Checks[i].Reason, e.Checks[i].Holds, e.Checks[i].Doubt)
		}
	}
	if _, err := json.Marshal(e); err != nil {
		t.Error(err)
	}
}

func TestEveryReasonIsSpeltForYAML(t *testing.T) {
	for _, rule := range Rules() {
		if s := string(rule.Reason); s != strings.ToLower(s) || strings.ContainsAny(s, " -") || rule.Grace <= 0 || rule.Judge == nil {
			t.Errorf("%+v", rule)
		}
	}
}

func TestAnotherPlaceIsTouchedOnlyOnceAPersonAccepts(t *testing.T) {
	s := running(expiredAt(noon.Add(-time.Hour)))
	facts := looked(s)
	for _, c := range []struct {
		name, last, now string
		refused         bool
	}{
		{"the same place", "acme/1", "acme/1", false},
		{"nobody ever asked", "", "acme/1", false},
		{"no place says who it is", "", "", false},
		{"another account", "acme/1", "other/1", true},
		{"it does not say any more", "acme/1", "", true},
	} {
		facts.LastPlace, facts.Place = c.last, c.now
		plan := Decide(facts, enforced())
		if refused := len(plan.Refused) == 1; refused != c.refused || refused != (plan.Token != "") || refused == (len(plan.Condemned()) == 1) {
			t.Errorf("%s: refused %q, token %q, condemned %d", c.name, plan.Refused, plan.Token, len(plan.Condemned()))
			continue
		}
		policy := enforced()
		policy.Accept = plan.Token
		if c.refused && len(Decide(facts, policy).Condemned()) != 1 {
			t.Errorf("%s: its token does not let it pass", c.name)
		}
		facts.Place = "third/1"
		if c.refused && len(Decide(facts, policy).Condemned()) != 0 {
			t.Errorf("%s: its token lets a third place pass", c.name)
		}
	}
}
