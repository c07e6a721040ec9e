// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// enforced is a policy that destroys by every rule.
func enforced() Policy {
	return Policy{Connection: "lab", Mode: Enforce, Modes: map[Reason]Mode{"orphaned_workspace": Enforce}}
}

// running is a sandbox of ours, made two days ago, that no rule holds for.
func running(change func(*sandbox.Sandbox)) Subject {
	box := &sandbox.Sandbox{
		Ref:       sandbox.Ref{Handle: "box", Incarnation: "1"},
		State:     sandbox.Running,
		Tags:      sandbox.Tags{airflow.TagSandbox: "box"},
		TagsKnown: true,
		CreatedAt: noon.Add(-48 * time.Hour),
	}
	change(box)
	return Subject{Sandbox: box}
}

func expiredAt(end time.Time) func(*sandbox.Sandbox) {
	return func(b *sandbox.Sandbox) { b.Tags[airflow.TagExpiresAt] = unix(end) }
}

// leftover is one that nothing uses, untouched for two days.
func leftover(change func(*sandbox.Leftover)) Subject {
	left := &sandbox.Leftover{
		Ref:       sandbox.Ref{Handle: "left", Incarnation: "1"},
		Kind:      "trash",
		Path:      "/state/trash/left",
		CreatedAt: noon.Add(-48 * time.Hour),
		ChangedAt: noon.Add(-48 * time.Hour),
	}
	change(left)
	return Subject{Leftover: left}
}

// looked are the facts of a complete look at s, ten minutes after the last.
func looked(s ...Subject) Facts {
	return Facts{Now: noon, LastLook: noon.Add(-10 * time.Minute), Complete: true, Subjects: s, Listed: len(s), LastCount: len(s)}
}

// marked is a mark of two days and two complete looks.
func marked(reason Reason) Mark {
	return Mark{Reason: reason, First: noon.Add(-48 * time.Hour), Looks: 2}
}

func check(t *testing.T, s Subject, facts Facts, policy Policy, want Outcome, reason Reason) Verdict {
	t.Helper()
	got := Judge(s, &facts, policy)
	if got.Outcome != want || got.Reason != reason {
		t.Errorf("judged %s for %q (%s), want %s for %q", got.Outcome, got.Reason, got.Doubt, want, reason)
	}
	return got
}

func TestExpiredOnlyPastBothEndsAndTheGrace(t *testing.T) {
	past, future := noon.Add(-time.Hour), noon.Add(time.Hour)
	cases := []struct {
		name       string
		change     func(*sandbox.Sandbox)
		serverEnds bool
		want       Outcome
	}{
		{"past its recorded end", expiredAt(past), false, Condemned},
		{"within the grace", expiredAt(noon.Add(-4 * time.Minute)), false, Suspected},
		{"to the second of the grace", expiredAt(noon.Add(-5 * time.Minute)), false, Condemned},
		{"before its recorded end", expiredAt(future), false, Alive},
		{"without any end", func(*sandbox.Sandbox) {}, false, Alive},
		{"the server's end is later", func(b *sandbox.Sandbox) { expiredAt(past)(b); b.ServerEnds = future }, true, Alive},
		{"the recorded end is later", func(b *sandbox.Sandbox) { expiredAt(future)(b); b.ServerEnds = past }, true, Alive},
		{"past both", func(b *sandbox.Sandbox) { expiredAt(past)(b); b.ServerEnds = past }, true, Condemned},
		{"only the server knows, past", func(b *sandbox.Sandbox) { b.ServerEnds = past }, true, Condemned},
		{"the server does not say", expiredAt(past), true, Unjudged},
		{"not a number", func(b *sandbox.Sandbox) { b.Tags[airflow.TagExpiresAt] = "soon" }, false, Unjudged},
		{"not a number, but the server keeps it", func(b *sandbox.Sandbox) { b.Tags[airflow.TagExpiresAt] = "soon"; b.ServerEnds = future }, true, Alive},
		{"zero", func(b *sandbox.Sandbox) { b.Tags[airflow.TagExpiresAt] = "0" }, false, Unjudged},
		{"empty", func(b *sandbox.Sandbox) { b.Tags[airflow.TagExpiresAt] = "" }, false, Unjudged},
		{"milliseconds", func(b *sandbox.Sandbox) { b.Tags[airflow.TagExpiresAt] = unix(past) + "000" }, false, Unjudged},
		{"with a fraction", func(b *sandbox.Sandbox) { b.Tags[airflow.TagExpiresAt] = unix(past) + ".5" }, false, Unjudged},
		{"before its creation", expiredAt(noon.Add(-49 * time.Hour)), false, Unjudged},
		{"the server's end is before its creation", func(b *sandbox.Sandbox) { b.ServerEnds = noon.Add(-49 * time.Hour) }, true, Unjudged},
		{"of unknown age", func(b *sandbox.Sandbox) { expiredAt(past)(b); b.CreatedAt = time.Time{} }, false, Unjudged},
		{"created in the far future", func(b *sandbox.Sandbox) { b.CreatedAt, b.ServerEnds = noon.Add(48*time.Hour), noon.Add(49*time.Hour) }, true, Unjudged},
		{"created in a while", func(b *sandbox.Sandbox) { b.CreatedAt, b.ServerEnds = future, future.Add(time.Hour) }, true, Alive},
		{"managed by Terraform", func(b *sandbox.Sandbox) {
			expiredAt(past)(b)
			b.Tags[sandbox.TagManagedBy] = sandbox.ManagedByTerraform
		}, false, Condemned},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := running(c.change)
			facts := looked(s)
			facts.ServerEnds = c.serverEnds
			reason := expired.Reason
			if c.want == Alive {
				reason = ""
			}
			check(t, s, facts, enforced(), c.want, reason)
		})
	}
}

func TestACreationThatIsYetToComeIsToldOfOnlyWhereTheClockIsBelieved(t *testing.T) {
	s := running(func(b *sandbox.Sandbox) { b.CreatedAt = noon.Add(48 * time.Hour) })
	facts := looked(s)
	if v := check(t, s, facts, enforced(), Unjudged, expired.Reason); !strings.Contains(v.Doubt, "yet to come") {
		t.Errorf("the doubt is %q", v.Doubt)
	}
	facts.ClockDoubt = "the clocks are two days apart" // which is told for the connection
	check(t, s, facts, enforced(), Alive, "")
}

func TestExpiredIsDatedFromTheLaterEndAndShowsBoth(t *testing.T) {
	tag, server := noon.Add(-2*time.Hour), noon.Add(-time.Hour)
	s := running(func(b *sandbox.Sandbox) { expiredAt(tag)(b); b.ServerEnds = server })
	v := check(t, s, looked(s), enforced(), Condemned, "expired")
	if !v.Dated || !v.Since.Equal(server) || !v.Ripe.Equal(server.Add(5*time.Minute)) {
		t.Errorf("dated %t since %s, ripe %s", v.Dated, v.Since, v.Ripe)
	}
	if len(v.Evidence) != 2 || v.Evidence[0].Source != "tag airflow_expires_at" || v.Evidence[1].Value != "2026-11-30T11:00:00Z" {
		t.Errorf("evidence %v", v.Evidence)
	}
}

func TestExpiredMayGoAtTheVeryFirstLook(t *testing.T) {
	s := running(expiredAt(noon.Add(-time.Hour)))
	check(t, s, Facts{Now: noon, Complete: true, Subjects: []Subject{s}, Listed: 1}, enforced(), Condemned, "expired")
}

func TestExpiredGoesEvenWhenTheLookIsNotComplete(t *testing.T) {
	s := running(expiredAt(noon.Add(-time.Hour)))
	facts := looked(s)
	facts.Complete = false
	check(t, s, facts, enforced(), Condemned, "expired")
}

func TestFailedTeardownCountsFromTheRequest(t *testing.T) {
	ago := func(d time.Duration) string { return unix(noon.Add(-d)) }
	cases := []struct {
		name   string
		change func(*sandbox.Sandbox)
		want   Outcome
	}{
		{"our mark, past the grace", func(b *sandbox.Sandbox) { b.Tags[sandbox.TagTeardownAt] = ago(16 * time.Minute) }, Condemned},
		{"our mark, within the grace", func(b *sandbox.Sandbox) { b.Tags[sandbox.TagTeardownAt] = ago(14 * time.Minute) }, Suspected},
		{"our mark, ahead of us", func(b *sandbox.Sandbox) { b.Tags[sandbox.TagTeardownAt] = unix(noon.Add(time.Hour)) }, Suspected},
		{"our mark, malformed", func(b *sandbox.Sandbox) { b.Tags[sandbox.TagTeardownAt] = "yes" }, Unjudged},
		{"our mark, before its creation", func(b *sandbox.Sandbox) { b.Tags[sandbox.TagTeardownAt] = ago(50 * time.Hour) }, Unjudged},
		{"our mark, of unknown age", func(b *sandbox.Sandbox) {
			b.Tags[sandbox.TagTeardownAt] = ago(time.Hour)
			b.CreatedAt = time.Time{}
		}, Unjudged},
		{"our mark, and a task holds it", func(b *sandbox.Sandbox) {
			b.Tags[sandbox.TagTeardownAt], b.Tags[airflow.TagHolder] = ago(time.Hour), "etl/run/load"
		}, Unjudged},
		{"our mark, and the claim of a destroy that was killed", func(b *sandbox.Sandbox) {
			b.Tags[sandbox.TagTeardownAt], b.Tags[airflow.TagHolder] = ago(time.Hour), sandbox.NewClaim()
		}, Condemned},
		{"our mark, and somebody outside a task holds it under the owner's name", func(b *sandbox.Sandbox) {
			b.Tags[sandbox.TagTeardownAt], b.Tags[airflow.TagHolder] = ago(time.Hour), "terraform:lab/x"
		}, Unjudged},
		{"stopping for long", func(b *sandbox.Sandbox) { b.State, b.StateSince = sandbox.Stopping, noon.Add(-time.Hour) }, Condemned},
		{"stopping, not for long", func(b *sandbox.Sandbox) { b.State, b.StateSince = sandbox.Stopping, noon.Add(-time.Minute) }, Suspected},
		{"stopping since nobody knows when", func(b *sandbox.Sandbox) { b.State = sandbox.Stopping }, Unjudged},
		{"failed for long", func(b *sandbox.Sandbox) { b.State, b.StateSince = sandbox.Failed, noon.Add(-time.Hour) }, Condemned},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := running(c.change)
			check(t, s, looked(s), enforced(), c.want, "failed_teardown")
		})
	}
	for _, state := range []sandbox.State{sandbox.Unknown, sandbox.Starting, sandbox.Running, sandbox.Idle} {
		t.Run(state.String()+" is alive, however long", func(t *testing.T) {
			s := running(func(b *sandbox.Sandbox) { b.State, b.StateSince = state, b.CreatedAt })
			check(t, s, looked(s), enforced(), Alive, "")
		})
	}
}

func TestHeldSandboxOfAFailedTeardownGoesPastItsEnd(t *testing.T) {
	s := running(func(b *sandbox.Sandbox) {
		expiredAt(noon.Add(-time.Hour))(b)
		b.Tags[sandbox.TagTeardownAt], b.Tags[airflow.TagHolder] = unix(noon.Add(-2*time.Hour)), "etl/run/load"
	})
	check(t, s, looked(s), enforced(), Condemned, "expired")
}

func TestFailedTeardownDoesNotWaitForALaterExpiry(t *testing.T) {
	s := running(func(b *sandbox.Sandbox) {
		expiredAt(noon.Add(-time.Minute))(b)
		b.Tags[sandbox.TagTeardownAt] = unix(noon.Add(-time.Hour))
	})
	check(t, s, looked(s), enforced(), Condemned, "failed_teardown")
}

func TestRetiredGoesOnlyWhenNoLookOfTheGraceMetAHolder(t *testing.T) {
	replaced := func(value string) func(*sandbox.Sandbox) {
		return func(b *sandbox.Sandbox) { b.Tags[sandbox.TagRetiredAt] = value }
	}
	long := replaced(unix(noon.Add(-3 * time.Hour)))
	and := func(key, value string) func(*sandbox.Sandbox) {
		return func(b *sandbox.Sandbox) { long(b); b.Tags[key] = value }
	}
	aged := marked("retired")
	cases := []struct {
		name   string
		change func(*sandbox.Sandbox)
		mark   Mark
		want   Outcome
	}{
		{"replaced long ago, and free for as long as we look", long, aged, Condemned},
		{"managed by Terraform", and(sandbox.TagManagedBy, sandbox.ManagedByTerraform), aged, Condemned},
		{"seen for the first time", long, Mark{}, Suspected},
		{"a look met a holder", long, aged.StartOver(), Suspected},
		{"free for less than the grace", long, Mark{Reason: "retired", First: noon.Add(-59 * time.Minute), Looks: 6}, Suspected},
		{"free for the grace to the second", long, Mark{Reason: "retired", First: noon.Add(-time.Hour), Looks: 6}, Condemned},
		{"no look was complete", long, Mark{Reason: "retired", First: noon.Add(-3 * time.Hour)}, Suspected},
		{"marked for another reason", long, marked("expired"), Suspected},
		{"replaced a moment ago", replaced(unix(noon.Add(-time.Minute))), aged, Suspected},
		{"replaced in what is yet to come", replaced(unix(noon.Add(time.Hour))), aged, Suspected},
		{"held", and(airflow.TagHolder, "etl/run/task"), aged, Alive},
		{"held by nobody we know", and(airflow.TagHolder, ""), aged, Alive},
		{"held, and when it was replaced cannot be read", func(b *sandbox.Sandbox) {
			and(airflow.TagHolder, "etl/run/task")(b)
			replaced("yes")(b)
		}, aged, Alive},
		{"not a time", replaced("yes"), aged, Unjudged},
		{"milliseconds", replaced(unix(noon.Add(-3*time.Hour)) + "000"), aged, Unjudged},
		{"replaced before it was made", replaced(unix(noon.Add(-49 * time.Hour))), aged, Unjudged},
		{"of unknown age", func(b *sandbox.Sandbox) { long(b); b.CreatedAt = time.Time{} }, aged, Unjudged},
		{"not replaced", func(*sandbox.Sandbox) {}, aged, Alive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := running(c.change)
			facts := looked(s)
			if c.mark.Reason != "" {
				facts.Marks = Marks{s.Key(): c.mark}
			}
			reason := retired.Reason
			if c.want == Alive {
				reason = ""
			}
			check(t, s, facts, enforced(), c.want, reason)
		})
	}
}

func TestRetiredIsDatedByTerraformAndNotCountedByTheShareBreaker(t *testing.T) {
	var subjects []Subject
	marks := make(Marks)
	for i := range 10 {
		s := running(func(b *sandbox.Sandbox) {
			b.Handle = strconv.Itoa(i)
			b.Tags[sandbox.TagRetiredAt] = unix(noon.Add(-3 * time.Hour))
		})
		subjects, marks[s.Key()] = append(subjects, s), marked("retired")
	}
	facts := looked(subjects...)
	facts.Marks = marks
	plan := Decide(facts, enforced())
	if len(plan.Condemned()) != 10 || !plan.Verdicts[0].Dated || !plan.Verdicts[0].Since.Equal(noon.Add(-3*time.Hour)) {
		t.Errorf("refused %q, first %+v", plan.Refused, plan.Verdicts[0])
	}
}

func TestOrphanedWorkspaceNeedsTwoCompleteLooksAndTheGraceTwice(t *testing.T) {
	day := 24 * time.Hour
	aged := marked("orphaned_workspace")
	cases := []struct {
		name   string
		change func(*sandbox.Leftover)
		facts  func(*Facts)
		mark   Mark
		want   Outcome
	}{
		{"old by its times and by its mark", nil, nil, aged, Condemned},
		{"seen for the first time", nil, nil, Mark{}, Suspected},
		{"seen by one look that was not complete", nil, nil, Mark{Reason: "orphaned_workspace", First: noon.Add(-2 * day)}, Suspected},
		{"the mark is young", nil, nil, Mark{Reason: "orphaned_workspace", First: noon.Add(-time.Hour), Looks: 6}, Suspected},
		{"marked for another reason", nil, nil, marked("expired"), Suspected},
		{"changed a moment ago", func(l *sandbox.Leftover) { l.ChangedAt = noon.Add(-time.Hour) }, nil, aged, Suspected},
		{"made a moment ago", func(l *sandbox.Leftover) { l.CreatedAt = noon.Add(-time.Hour) }, nil, aged, Suspected},
		{"made nobody knows when", func(l *sandbox.Leftover) { l.CreatedAt = time.Time{} }, nil, aged, Condemned},
		{"changed nobody knows when", func(l *sandbox.Leftover) { l.ChangedAt = time.Time{} }, nil, aged, Unjudged},
		{"a link", func(l *sandbox.Leftover) { l.Problem = "it is a symbolic link" }, nil, aged, Unjudged},
		{"held", func(l *sandbox.Leftover) { l.InUse = true }, nil, aged, Alive},
		{"used by a sandbox", nil, func(f *Facts) { f.InUse = map[string]struct{}{"/state/trash/left": {}} }, aged, Alive},
		{"used above", nil, func(f *Facts) { f.InUse = map[string]struct{}{"/state": {}} }, aged, Alive},
		{"used below", nil, func(f *Facts) { f.InUse = map[string]struct{}{"/state/trash/left/deep": {}} }, aged, Alive},
		{"a neighbour is used", nil, func(f *Facts) { f.InUse = map[string]struct{}{"/state/trash/left2": {}} }, aged, Condemned},
		{"the look is not complete", nil, func(f *Facts) { f.Complete = false }, aged, Suspected},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := leftover(func(l *sandbox.Leftover) {
				if c.change != nil {
					c.change(l)
				}
			})
			facts := looked(s)
			if c.mark.Reason != "" {
				facts.Marks = Marks{s.Key(): c.mark}
			}
			if c.facts != nil {
				c.facts(&facts)
			}
			if v := Judge(s, &facts, enforced()); v.Outcome != c.want {
				t.Errorf("judged %s (%s), want %s", v.Outcome, v.Doubt, c.want)
			}
		})
	}
}

func TestOrphanedWorkspaceOnlyReportsUnlessToldOtherwise(t *testing.T) {
	s := leftover(func(*sandbox.Leftover) {})
	facts := looked(s)
	facts.Marks = Marks{s.Key(): marked("orphaned_workspace")}
	policy := enforced()
	policy.Modes = nil
	if v := check(t, s, facts, policy, Condemned, "orphaned_workspace"); v.Mode != Report {
		t.Error("it would be removed")
	}
}
