// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var (
	theRun  = airflow.DagRun{DagID: "etl", RunID: "scheduled__2026-11-30T09:00:00+00:00"}
	theTask = airflow.TaskInstance{DagRun: theRun, TaskID: "load", MapIndex: -1}
)

// prod is the deployment that the sandboxes of these tests are made for.
var prod = Deployment{Name: "prod", Marker: "prod"}

// owned is a sandbox of a run of prod's, which nobody holds.
func owned(b *sandbox.Sandbox) {
	b.Tags[airflow.TagOwner], b.Tags[sandbox.TagDeployment] = theRun.Owner(), prod.Marker
}

// heldBy is one that a task holds.
func heldBy(holder string) func(*sandbox.Sandbox) {
	return func(b *sandbox.Sandbox) { owned(b); b.Tags[airflow.TagHolder] = holder }
}

// told is what prod says: the run is in one state, the task in another, both since
// ended.
func told(run airflow.RunState, task airflow.TaskState, ended time.Time) Testimony {
	return Testimony{Deployment: prod, Answers: airflow.Answers{
		ClockKnown: true,
		Runs:       map[airflow.DagRun]airflow.RunAnswer{theRun: {State: run, EndedAt: ended}},
		Tasks:      map[airflow.TaskInstance]airflow.TaskAnswer{theTask: {State: task, Try: 2, EndedAt: ended}},
	}}
}

func ended(at time.Time) string { return at.Format(time.RFC3339Nano) }

// agreeing enforces the rules about Airflow too.
func agreeing() Policy {
	policy := enforced()
	policy.Airflow = prod
	policy.Modes["stale_holder"], policy.Modes["finished_owner"] = Enforce, Enforce
	return policy
}

// once is the mark of one complete look, ten minutes ago.
func once(reason Reason) Mark {
	return Mark{Reason: reason, First: noon.Add(-10 * time.Minute), Looks: 1}
}

// remembered is a mark that was made on what the rule holds for now, unless it
// says on what.
func remembered(s Subject, facts Facts, mark Mark) Marks {
	for _, rule := range rules {
		if rule.Reason == mark.Reason && mark.Claim == (Claim{}) {
			finding, _ := rule.ask(s, &facts)
			mark.Claim = finding.Claim
		}
	}
	if mark.Reason == "" {
		return nil
	}
	return Marks{s.Key(): mark}
}

// reasonOf is reason, unless nothing holds.
func reasonOf(outcome Outcome, reason Reason) Reason {
	if outcome == Alive {
		return ""
	}
	return reason
}

func TestAClaimIsReleasedOnlyOnceItsTaskIsKnownToBeOver(t *testing.T) {
	hour := noon.Add(-time.Hour)
	dead := told("failed", "failed", hour)
	cases := []struct {
		name   string
		change func(*sandbox.Sandbox)
		said   Testimony
		mark   Mark
		want   Outcome
	}{
		{"failed an hour ago", heldBy(theTask.Holder()), dead, once("stale_holder"), Condemned},
		{"succeeded: the release was refused", heldBy(theTask.Holder()), told("running", "success", hour), once("stale_holder"), Condemned},
		{"its run goes on", heldBy(theTask.Holder()), told("running", "failed", hour), once("stale_holder"), Condemned},
		{"managed by Terraform", func(b *sandbox.Sandbox) {
			heldBy(theTask.Holder())(b)
			b.Tags[sandbox.TagManagedBy] = sandbox.ManagedByTerraform
		}, dead, once("stale_holder"), Condemned},
		{"seen for the first time", heldBy(theTask.Holder()), dead, Mark{}, Suspected},
		{"no look was complete", heldBy(theTask.Holder()), dead, Mark{Reason: "stale_holder", First: hour}, Suspected},
		{"the look before met another holder", heldBy(theTask.Holder()), dead, Mark{Reason: "stale_holder", First: hour, Looks: 3, Claim: Claim{"etl/other/load", 2, ended(hour)}}, Suspected},
		{"the look before met another try", heldBy(theTask.Holder()), dead, Mark{Reason: "stale_holder", First: hour, Looks: 3, Claim: Claim{theTask.Holder(), 1, ended(hour)}}, Suspected},
		{"the look before met another end", heldBy(theTask.Holder()), dead, Mark{Reason: "stale_holder", First: hour, Looks: 3, Claim: Claim{theTask.Holder(), 2, ended(noon.Add(-2 * time.Hour))}}, Suspected},
		{"within the grace", heldBy(theTask.Holder()), told("failed", "failed", noon.Add(-14*time.Minute)), once("stale_holder"), Suspected},
		{"to the second of the grace", heldBy(theTask.Holder()), told("failed", "failed", noon.Add(-15*time.Minute)), once("stale_holder"), Condemned},
		{"running", heldBy(theTask.Holder()), told("running", "running", time.Time{}), once("stale_holder"), Alive},
		{"to be tried again", heldBy(theTask.Holder()), told("running", "up_for_retry", hour), once("stale_holder"), Alive},
		{"cleared", heldBy(theTask.Holder()), told("queued", "", time.Time{}), once("stale_holder"), Alive},
		{"waiting for a person", heldBy(theTask.Holder()), told("running", "awaiting_input", time.Time{}), once("stale_holder"), Alive},
		{"in a state of a later Airflow", heldBy(theTask.Holder()), told("running", "paused", hour), once("stale_holder"), Alive},
		{"ended before the sandbox was made", heldBy(theTask.Holder()), told("failed", "failed", noon.Add(-49*time.Hour)), once("stale_holder"), Unheard},
		{"of unknown age", func(b *sandbox.Sandbox) { heldBy(theTask.Holder())(b); b.CreatedAt = time.Time{} }, dead, once("stale_holder"), Unheard},
		{"nobody holds it", owned, told("running", "failed", hour), once("stale_holder"), Alive},
		{"an empty holder", heldBy(""), told("running", "failed", hour), once("stale_holder"), Alive},
		{"claimed by a destroy of Terraform's", heldBy(sandbox.NewClaim()), told("running", "failed", hour), once("stale_holder"), Alive},
		{"held by what is no task", heldBy("somebody"), told("running", "failed", hour), once("stale_holder"), Alive},
		{"held by an index that was not asked about", heldBy(theTask.Holder() + "[3]"), dead, once("stale_holder"), Unheard},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := running(c.change)
			facts := looked(s)
			facts.Airflow = c.said
			facts.Marks = remembered(s, facts, c.mark)
			v := check(t, s, facts, agreeing(), c.want, reasonOf(c.want, "stale_holder"))
			if acts := v.Outcome == Condemned; acts && (v.Act != Release || v.Claim.Holder != theTask.Holder() || v.Claim.Try != 2 || v.Dated) {
				t.Errorf("it would %s the claim %+v, dated %t", v.Act, v.Claim, v.Dated)
			}
		})
	}
}

func TestAnOwnerIsFinishedOnlyOnceItsRunIsOverAndNoTaskMayLive(t *testing.T) {
	hour := noon.Add(-time.Hour)
	cases := []struct {
		name   string
		change func(*sandbox.Sandbox)
		said   Testimony
		mark   Mark
		want   Outcome
	}{
		{"over for an hour, and free", owned, told("success", "", hour), once("finished_owner"), Condemned},
		{"an empty holder", heldBy(""), told("failed", "", hour), once("finished_owner"), Condemned},
		{"held by a task that is over", heldBy(theTask.Holder()), told("failed", "failed", hour), once("finished_owner"), Condemned},
		{"held by a task that is to be tried again", heldBy(theTask.Holder()), told("failed", "up_for_retry", hour), once("finished_owner"), Alive},
		{"held by what is no task", heldBy("somebody"), told("failed", "failed", hour), once("finished_owner"), Alive},
		{"claimed by a destroy of Terraform's", heldBy(sandbox.NewClaim()), told("failed", "failed", hour), once("finished_owner"), Alive},
		{"seen for the first time", owned, told("success", "", hour), Mark{}, Suspected},
		{"within the grace", owned, told("success", "", noon.Add(-29*time.Minute)), once("finished_owner"), Suspected},
		{"to the second of the grace", owned, told("success", "", noon.Add(-30*time.Minute)), once("finished_owner"), Condemned},
		{"cleared, and queued again", owned, told("queued", "", hour), once("finished_owner"), Alive},
		{"in a state of a later Airflow", owned, told("archived", "", hour), once("finished_owner"), Alive},
		{"over before the sandbox was made", owned, told("success", "", noon.Add(-49*time.Hour)), once("finished_owner"), Unheard},
		{"managed by Terraform", func(b *sandbox.Sandbox) {
			owned(b)
			b.Tags[sandbox.TagManagedBy] = sandbox.ManagedByTerraform
		}, told("success", "", hour), once("finished_owner"), Alive},
		{"an owner of Terraform's", func(b *sandbox.Sandbox) { owned(b); b.Tags[airflow.TagOwner] = "terraform:prod/x" }, told("success", "", hour), once("finished_owner"), Alive},
		{"no owner", func(b *sandbox.Sandbox) { owned(b); delete(b.Tags, airflow.TagOwner) }, told("success", "", hour), once("finished_owner"), Alive},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := running(c.change)
			facts := looked(s)
			facts.Airflow = c.said
			facts.Marks = remembered(s, facts, c.mark)
			policy := agreeing()
			policy.Modes["stale_holder"] = Report
			v := check(t, s, facts, policy, c.want, reasonOf(c.want, "finished_owner"))
			if acts := v.Outcome == Condemned; acts && (v.Act != Destroy || v.Dated) {
				t.Errorf("it would %s, dated %t", v.Act, v.Dated)
			}
		})
	}
}

func TestAirflowIsBelievedOnlyAboutItsOwnSandboxes(t *testing.T) {
	marker := func(value string) func(*sandbox.Sandbox) {
		return func(b *sandbox.Sandbox) {
			heldBy(theTask.Holder())(b)
			b.Tags[sandbox.TagDeployment] = value
		}
	}
	unmarked := func(b *sandbox.Sandbox) { marker("")(b); delete(b.Tags, sandbox.TagDeployment) }
	for _, c := range []struct {
		name       string
		change     func(*sandbox.Sandbox)
		deployment Deployment
		believed   bool
	}{
		{"it bears the marker", marker("prod"), prod, true},
		{"it bears another's", marker("staging"), prod, false},
		{"it bears none", unmarked, prod, false},
		{"it bears an empty one", marker(""), Deployment{Name: "prod"}, false},
		{"it bears none, and the place is prod's alone", unmarked, Deployment{Name: "prod", Marker: "prod", Exclusive: true}, true},
		{"it bears another's, though the place is said to be prod's alone", marker("staging"), Deployment{Name: "prod", Marker: "prod", Exclusive: true}, false},
		{"the place is one Airflow's alone, whatever it is called", marker("x"), Deployment{Name: "prod", Exclusive: true}, true},
		{"no Airflow is named", marker("prod"), Deployment{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := running(c.change)
			for _, reason := range []Reason{"stale_holder", "finished_owner"} {
				facts := looked(s)
				facts.Airflow = told("failed", "failed", noon.Add(-time.Hour))
				facts.Airflow.Deployment = c.deployment
				facts.Marks = remembered(s, facts, once(reason))
				v := Judge(s, &facts, agreeing())
				if (v.Outcome == Condemned) != c.believed || (v.Doubt == "") != c.believed {
					t.Errorf("%s: judged %s (%s)", reason, v.Outcome, v.Doubt)
				}
				if asks := Questions(&facts, agreeing()); len(asks.Runs)+len(asks.Tasks) > 0 {
					t.Errorf("%s: asks %v again", reason, asks)
				}
				facts.Airflow.Answers = airflow.Answers{}
				if asked := len(Questions(&facts, agreeing()).Tasks) == 1; asked != c.believed {
					t.Errorf("%s: it is asked about: %t", reason, asked)
				}
			}
		})
	}
}

func TestWhatAirflowDoesNotTellLeavesEverythingAsItIs(t *testing.T) {
	s := running(heldBy(theTask.Holder()))
	silences := map[string]func(*Testimony){
		"it is down":         func(a *Testimony) { *a = Testimony{Deployment: prod, Doubt: "connection refused"} },
		"its clock is wrong": func(a *Testimony) { a.Doubt = "the clocks are an hour apart" },
		"it was not asked":   func(a *Testimony) { a.Answers = airflow.Answers{} },
		"it knows no such run, and no such task": func(a *Testimony) {
			a.Runs[theRun] = airflow.RunAnswer{Doubt: "404"}
			a.Tasks[theTask] = airflow.TaskAnswer{Doubt: "404"}
		},
	}
	for name, silence := range silences {
		for _, reason := range []Reason{"stale_holder", "finished_owner"} {
			facts := looked(s)
			facts.Airflow = told("failed", "failed", noon.Add(-time.Hour))
			facts.Marks = remembered(s, facts, once(reason))
			silence(&facts.Airflow)
			policy := agreeing()
			if reason == "finished_owner" {
				policy.Modes["stale_holder"] = Report
			}
			plan := Decide(facts, policy)
			if v := plan.Verdicts[0]; v.Outcome != Unheard || v.Doubt == "" || v.Reason != reason {
				t.Errorf("%s: %s is judged %s (%s)", name, v.Reason, v.Outcome, v.Doubt)
			}
			if diff := cmp.Diff(facts.Marks, Remember(facts, plan)); diff != "" {
				t.Errorf("%s: the mark changed: %s", name, diff)
			}
		}
	}
}

func TestWithoutAnEndDateOurMarkDatesIt(t *testing.T) {
	s := running(heldBy(theTask.Holder()))
	for name, said := range map[string]Testimony{
		"Airflow has none":           told("failed", "failed", time.Time{}),
		"Airflow's clock is unknown": func() Testimony { a := told("failed", "failed", noon.Add(-time.Hour)); a.ClockKnown = false; return a }(),
	} {
		for _, c := range []struct {
			first time.Duration
			want  Outcome
		}{{14 * time.Minute, Suspected}, {15 * time.Minute, Condemned}} {
			facts := looked(s)
			facts.Airflow = said
			mark := once("stale_holder")
			mark.First = noon.Add(-c.first)
			facts.Marks = remembered(s, facts, mark)
			v := check(t, s, facts, agreeing(), c.want, "stale_holder")
			if since := facts.Airflow.Tasks[theTask].EndedAt; since.IsZero() && !v.Since.Equal(mark.First) || !v.Ripe.Equal(mark.First.Add(15*time.Minute)) {
				t.Errorf("%s: dead since %s, ripe %s", name, v.Since, v.Ripe)
			}
		}
	}
}

func TestAnOwnerIsFinishedSinceTheLastOfItsEnds(t *testing.T) {
	s := running(heldBy(theTask.Holder()))
	facts := looked(s)
	facts.Airflow = told("failed", "failed", noon.Add(-2*time.Hour))
	facts.Airflow.Tasks[theTask] = airflow.TaskAnswer{State: "failed", EndedAt: noon.Add(-time.Hour)}
	facts.Marks = remembered(s, facts, once("finished_owner"))
	if v := Judge(s, &facts, agreeing()); !v.Since.Equal(noon.Add(-time.Hour)) || v.Outcome != Condemned {
		t.Errorf("judged %s since %s", v.Outcome, v.Since)
	}
}

func TestAStaleHolderIsReleasedFromWhatWaitsForIt(t *testing.T) {
	for name, waits := range map[string]func(*sandbox.Sandbox){
		"retired":         func(b *sandbox.Sandbox) { b.Tags[sandbox.TagRetiredAt] = unix(noon.Add(-3 * time.Hour)) },
		"failed teardown": func(b *sandbox.Sandbox) { b.Tags[sandbox.TagTeardownAt] = unix(noon.Add(-3 * time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := running(func(b *sandbox.Sandbox) { heldBy(theTask.Holder())(b); waits(b) })
			facts := looked(s)
			facts.Airflow = told("failed", "failed", noon.Add(-time.Hour))
			facts.Marks = remembered(s, facts, once("stale_holder"))
			check(t, s, facts, agreeing(), Condemned, "stale_holder")
		})
	}
	s := running(func(b *sandbox.Sandbox) { heldBy(theTask.Holder())(b); expiredAt(noon.Add(-time.Hour))(b) })
	facts := looked(s)
	facts.Airflow = told("failed", "failed", noon.Add(-time.Hour))
	facts.Marks = remembered(s, facts, once("stale_holder"))
	check(t, s, facts, agreeing(), Condemned, "expired")
}

func TestWhatOnlyIsReportedDoesNotHoldUpWhatIsEnforced(t *testing.T) {
	s := running(heldBy(theTask.Holder()))
	facts := looked(s)
	facts.Airflow = told("failed", "failed", noon.Add(-time.Hour))
	policy := agreeing()
	policy.Modes["stale_holder"] = Report
	for _, want := range []Outcome{Suspected, Condemned} {
		v := check(t, s, facts, policy, want, "finished_owner")
		facts.Marks = Remember(facts, Plan{Verdicts: []Verdict{v}})
	}
}

func TestAClaimBeingReleasedIsLeftToWhoFindsOutWhetherItWasRight(t *testing.T) {
	s := running(func(b *sandbox.Sandbox) { owned(b); b.Tags[sandbox.TagTeardownAt] = unix(noon.Add(-time.Hour)) })
	mark := once("stale_holder")
	mark.Taken, mark.Attempts = noon.Add(-time.Minute), 1
	for _, complete := range []bool{true, false} {
		for _, listed := range []bool{true, false} {
			facts := looked(s)
			facts.Airflow, facts.Complete, facts.Marks = told("running", "running", time.Time{}), complete, Marks{s.Key(): mark}
			if !listed {
				facts.Subjects = nil
			}
			plan := Decide(facts, agreeing())
			if len(plan.Condemned()) > 0 {
				t.Errorf("it goes while it is not known whether its task lives: %+v", plan.Verdicts)
			}
			if diff := cmp.Diff(facts.Marks, Remember(facts, plan)); diff != "" {
				t.Errorf("the intent is forgotten: %s", diff)
			}
		}
	}
}

func TestWhatIsPastItsEndGoesWhoeverMayHoldIt(t *testing.T) {
	s := running(func(b *sandbox.Sandbox) { owned(b); expiredAt(noon.Add(-time.Hour))(b) })
	mark := once("stale_holder")
	mark.Taken = noon.Add(-time.Minute)
	facts := looked(s)
	facts.Marks = remembered(s, facts, mark)
	check(t, s, facts, agreeing(), Condemned, "expired")
}

func TestTheShareBreakerCountsWhatRestsOnAirflowsWord(t *testing.T) {
	var subjects []Subject
	marks := make(Marks)
	for i := range 10 {
		s := running(func(b *sandbox.Sandbox) { heldBy(theTask.Holder())(b); b.Handle = fmt.Sprint(i) })
		subjects = append(subjects, s)
	}
	facts := looked(subjects...)
	facts.Airflow = told("failed", "failed", noon.Add(-time.Hour))
	for _, s := range subjects {
		maps.Copy(marks, remembered(s, facts, once("stale_holder")))
	}
	facts.Marks = marks
	plan := Decide(facts, agreeing())
	if len(plan.Refused) != 1 || len(plan.Condemned()) > 0 || plan.Token == "" {
		t.Errorf("refused %q, token %q", plan.Refused, plan.Token)
	}
}

func TestEachIsAskedAboutOnceAndInOrder(t *testing.T) {
	other := airflow.TaskInstance{DagRun: theRun, TaskID: "load", MapIndex: 7}
	var subjects []Subject
	for i, holder := range []string{other.Holder(), theTask.Holder(), "", other.Holder(), sandbox.NewClaim(), "somebody"} {
		subjects = append(subjects, running(func(b *sandbox.Sandbox) { heldBy(holder)(b); b.Handle = fmt.Sprint(i) }))
	}
	kept := running(func(b *sandbox.Sandbox) {
		heldBy("etl/kept/load")(b)
		b.Handle, b.Tags[sandbox.TagProtect] = "kept", "yes"
	})
	ended := running(func(b *sandbox.Sandbox) { heldBy("etl/ended/load")(b); b.Handle, b.State = "ended", sandbox.Ended })
	facts := looked(append(subjects, kept, ended)...)
	facts.Airflow.Deployment = prod
	want := airflow.Questions{Runs: []airflow.DagRun{theRun}, Tasks: []airflow.TaskInstance{theTask, other}}
	if diff := cmp.Diff(want, Questions(&facts, agreeing())); diff != "" {
		t.Error(diff)
	}
	facts.Airflow.Doubt = "down"
	if asks := Questions(&facts, agreeing()); len(asks.Runs)+len(asks.Tasks) > 0 {
		t.Errorf("what is down is asked %v", asks)
	}
}

func TestExplainShowsWhatAirflowSaidOrWhyItIsNotBelieved(t *testing.T) {
	explain := func(change func(*sandbox.Sandbox), said Testimony) string {
		s := running(change)
		facts := looked(s)
		facts.Airflow = said
		var lines []string
		for _, c := range Explain(s, &facts, agreeing()).Checks {
			if c.Reason == "stale_holder" || c.Reason == "finished_owner" {
				lines = append(lines, fmt.Sprint(c.Holds, c.Evidence, c.Doubt))
			}
		}
		return strings.Join(lines, "\n")
	}
	dead := told("success", "failed", noon.Add(-time.Hour))
	for _, c := range []struct {
		name string
		got  string
		want []string
	}{
		{"over", explain(heldBy(theTask.Holder()), dead), []string{"{deployment prod tag taskowned_deployment}", "{task failed 2026-11-30T11:00:00Z Airflow prod}", "{run success 2026-11-30T11:00:00Z Airflow prod}"}},
		{"in a state of a later Airflow", explain(heldBy(theTask.Holder()), told("running", "paused", time.Time{})), []string{`"paused" of its task is not known`}},
		{"alive", explain(heldBy(theTask.Holder()), told("running", "restarting", time.Time{})), []string{"{task restarting Airflow prod}", "{run running Airflow prod}"}},
		{"another deployment's", explain(func(b *sandbox.Sandbox) { heldBy(theTask.Holder())(b); b.Tags[sandbox.TagDeployment] = "staging" }, dead), []string{`"staging", and Airflow prod is "prod"`}},
		{"managed by Terraform", explain(func(b *sandbox.Sandbox) { owned(b); b.Tags[sandbox.TagManagedBy] = "terraform" }, dead), []string{"{managed by terraform tag taskowned_managed_by}"}},
		{"no run", explain(func(b *sandbox.Sandbox) { b.Tags[airflow.TagOwner] = "terraform:prod/x" }, dead), []string{"{owner terraform:prod/x no Dag run has such a name}"}},
		{"no task", explain(heldBy("somebody"), dead), []string{`held by "somebody"`}},
	} {
		for _, want := range c.want {
			if !strings.Contains(c.got, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, c.got)
			}
		}
	}
}

func TestOnlyTerraformsOwnDatesDestroyWhatItManages(t *testing.T) {
	for _, rule := range Rules() {
		if rule.Managed && rule.Act == Destroy && rule.Needs&Airflow != 0 {
			t.Errorf("%s destroys what Terraform manages on Airflow's word", rule.Reason)
		}
		if rule.Needs&Airflow != 0 && rule.Mode != Report {
			t.Errorf("%s acts on Airflow's word by default", rule.Reason)
		}
	}
	if !slices.ContainsFunc(Rules(), func(r Rule) bool { return r.Act == Release && r.Managed }) {
		t.Error("no claim on what Terraform manages is ever released")
	}
}
