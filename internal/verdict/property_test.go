// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var drawnTags = []struct {
	key    string
	values []string
}{
	{airflow.TagSandbox, []string{"x"}},
	{airflow.TagExpiresAt, []string{"0", "soon", unix(noon.Add(-time.Hour)), unix(noon.Add(time.Hour)), unix(noon.Add(-time.Minute))}},
	{airflow.TagOwner, []string{"a/b", "keep/b"}},
	{sandbox.TagTeardownAt, []string{"x", unix(noon.Add(-time.Hour)), unix(noon)}},
	{sandbox.TagRetiredAt, []string{"x", unix(noon.Add(-3 * time.Hour)), unix(noon)}},
	{airflow.TagHolder, []string{"a/b/c", "a/b/c[1]", "x", "terraform:lab/x", "terraform:abcdefghijklmnopqrstuvwxyz"}},
	{sandbox.TagDeployment, []string{"prod", "prod", "staging"}},
	{sandbox.TagProtect, []string{"yes", "false", unix(noon.Add(-time.Hour)), unix(noon.Add(time.Hour))}},
	{sandbox.TagManagedBy, []string{sandbox.ManagedByTerraform}},
}

// draw makes random facts, most of them near the moments that decide.
type draw struct{ *rand.Rand }

func (d draw) chance(p float64) bool { return d.Float64() < p }

func (d draw) moment() time.Time {
	switch d.IntN(4) {
	case 0:
		return time.Time{}
	case 1:
		return noon.Add(time.Duration(d.IntN(7200)-3600) * time.Second)
	case 2:
		return noon.Add(-time.Duration(d.IntN(40)) * time.Minute)
	}
	return noon.Add(-48 * time.Hour)
}

func (d draw) subject(serverEnds bool) Subject {
	ref := sandbox.Ref{Handle: fmt.Sprintf("h%d", d.IntN(12)), Incarnation: fmt.Sprint(d.IntN(2))}
	if d.chance(0.3) {
		left := &sandbox.Leftover{Ref: ref, Path: "/w/" + ref.Handle, CreatedAt: d.moment(), ChangedAt: d.moment(), InUse: d.chance(0.1)}
		if d.chance(0.1) {
			left.Problem = "link"
		}
		return Subject{Leftover: left}
	}
	box := &sandbox.Sandbox{
		Ref: ref, State: sandbox.State(d.IntN(7)), TagsKnown: true, Tags: sandbox.Tags{},
		CreatedAt: noon.Add(-48 * time.Hour), StateSince: d.moment(),
	}
	if d.chance(0.1) {
		box.CreatedAt = d.moment()
	}
	if serverEnds {
		box.ServerEnds = d.moment()
	}
	for _, tag := range drawnTags {
		if value := tag.values[d.IntN(len(tag.values))]; d.chance(0.4) {
			box.Tags[tag.key] = value
		}
	}
	return Subject{Sandbox: box}
}

func (d draw) facts() Facts {
	facts := Facts{
		Now: noon, LastLook: noon.Add(-10 * time.Minute), Complete: d.chance(0.8), ServerEnds: d.chance(0.5),
		Listed: 100, LastCount: 100, InUse: make(map[string]struct{}), Marks: make(Marks),
		Airflow: d.testimony(),
	}
	for range d.IntN(16) {
		s := d.subject(facts.ServerEnds)
		facts.Subjects = append(facts.Subjects, s)
		if d.chance(0.6) {
			reason := rules[d.IntN(len(rules))].Reason
			if s.Leftover != nil {
				reason = orphanedWorkspace.Reason
				s.Leftover.CreatedAt = noon.Add(-48 * time.Hour) // it was there when it was marked
			}
			mark := Mark{Reason: reason, First: noon.Add(-48 * time.Hour), Looks: d.IntN(3)}
			maps.Copy(facts.Marks, remembered(s, facts, mark))
		}
	}
	return facts
}

func (d draw) testimony() Testimony {
	run := airflow.DagRun{DagID: "a", RunID: "b"}
	ended := func() time.Time { return noon.Add(-time.Duration(d.IntN(60)) * time.Minute) }
	if d.chance(0.1) {
		ended = func() time.Time { return noon.Add(-72 * time.Hour) }
	}
	said := Testimony{Deployment: Deployment{Name: "prod", Marker: "prod", Exclusive: d.chance(0.2)}}
	said.ClockKnown = true
	said.Runs = map[airflow.DagRun]airflow.RunAnswer{
		run: {State: []airflow.RunState{"success", "failed", "running"}[d.IntN(3)], EndedAt: ended()},
	}
	said.Tasks = make(map[airflow.TaskInstance]airflow.TaskAnswer)
	for _, index := range []int{-1, 1} {
		said.Tasks[airflow.TaskInstance{DagRun: run, TaskID: "c", MapIndex: index}] = airflow.TaskAnswer{
			State: []airflow.TaskState{"success", "failed", "running", "up_for_retry"}[d.IntN(4)], Try: 1, EndedAt: ended(),
		}
	}
	return said
}

func drawPolicy() Policy {
	policy := agreeing()
	policy.Protect.Owners = []string{"keep/*"}
	return policy
}

// draws runs a property over 2,000 random facts, and under the fuzzer, which
// spends more on one input than a hundred of them take.
func draws(f *testing.F, property func(*testing.T, draw)) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		for n := range uint64(100) {
			if property(t, draw{rand.New(rand.NewPCG(seed, n))}); t.Failed() {
				t.Fatalf("draw %d of seed %d", n, seed)
			}
		}
	})
}

func FuzzSameFactsInAnyOrderGiveTheSameBytes(f *testing.F) {
	draws(f, func(t *testing.T, d draw) {
		facts := d.facts()
		bytes := func() string {
			plan := Decide(facts, drawPolicy())
			out, err := json.Marshal([]any{plan, Remember(facts, plan)})
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		first := bytes()
		d.Shuffle(len(facts.Subjects), func(i, j int) {
			facts.Subjects[i], facts.Subjects[j] = facts.Subjects[j], facts.Subjects[i]
		})
		if again := bytes(); again != first {
			t.Errorf("one order gives\n%s\nanother\n%s", first, again)
		}
	})
}

// forget drops one piece of information. What an attempt left behind is kept: a
// dated proof needs no mark, and without the mark it would not wait.
func (d draw) forget(facts *Facts) string {
	switch d.IntN(5) {
	case 4:
		return d.forgetWords(&facts.Airflow)
	case 0:
		facts.Complete = false
		return "completeness"
	case 1:
		facts.ClockDoubt = "unknown"
		return "the clock"
	case 2:
		if len(facts.Marks) > 0 {
			facts.Marks = maps.Clone(facts.Marks)
			key := slices.SortedFunc(maps.Keys(facts.Marks), Key.Compare)[0]
			delete(facts.Marks, key)
			return "the mark of " + key.Handle
		}
	}
	if len(facts.Subjects) == 0 {
		return "nothing"
	}
	i := d.IntN(len(facts.Subjects))
	if left := facts.Subjects[i].Leftover; left != nil {
		changed := *left
		facts.Subjects[i].Leftover = &changed
		return "of " + left.Handle + " " + d.forgetLeftover(&changed)
	}
	changed := *facts.Subjects[i].Sandbox
	facts.Subjects[i].Sandbox = &changed
	return "of " + changed.Handle + " " + d.forgetSandbox(&changed)
}

// forgetWords drops some of what Airflow said, but for a date: one may speak
// against an end, and without one the mark dates it.
func (d draw) forgetWords(said *Testimony) string {
	silent := *said
	silent.Runs, silent.Tasks = maps.Clone(said.Runs), maps.Clone(said.Tasks)
	defer func() { *said = silent }()
	switch d.IntN(6) {
	case 5:
		silent.ClockKnown = false
		return "Airflow's clock"
	case 0:
		silent.Doubt = "down"
		return "Airflow"
	case 1:
		silent.Exclusive = false
		return "that the place is its own"
	case 2:
		clear(silent.Runs)
		return "the runs"
	case 3:
		clear(silent.Tasks)
		return "the tasks"
	}
	for task, answer := range silent.Tasks {
		silent.Tasks[task] = airflow.TaskAnswer{State: answer.State, Try: answer.Try, EndedAt: answer.EndedAt, Doubt: "404"}
	}
	return "which tasks there are"
}

func (d draw) forgetLeftover(l *sandbox.Leftover) string {
	switch d.IntN(3) {
	case 0:
		l.CreatedAt = time.Time{}
		return "its creation"
	case 1:
		l.ChangedAt = time.Time{}
		return "its change"
	}
	l.Problem = "cannot be read"
	return "everything"
}

func (d draw) forgetSandbox(b *sandbox.Sandbox) string {
	switch d.IntN(6) {
	case 0:
		b.Tags, b.TagsKnown = nil, false
		return "its tags"
	case 1:
		b.CreatedAt = time.Time{}
		return "its creation"
	case 2:
		b.StateSince = time.Time{}
		return "since when it is in its state"
	case 3:
		if b.State == sandbox.Ended {
			return "nothing: of what has ended nothing can be deleted"
		}
		b.State = sandbox.Unknown
		return "its state"
	case 4:
		b.ServerEnds = time.Time{}
		return "its server's end"
	}
	b.Problem = "cannot be read"
	return "everything"
}

func FuzzLessInformationNeverAddsADeletion(f *testing.F) {
	draws(f, func(t *testing.T, d draw) {
		facts := d.facts()
		// A sandbox that is listed twice is judged by what spares it, and of that
		// nothing may be forgotten: each once.
		once := make(map[Key]bool)
		var subjects []Subject
		for _, s := range facts.Subjects {
			if !once[s.Key()] {
				subjects = append(subjects, s)
			}
			once[s.Key()] = true
		}
		facts.Subjects = subjects
		policy := drawPolicy()
		policy.Share = 1
		before := make(map[Key]bool)
		for _, v := range Decide(facts, policy).Condemned() {
			before[v.Key] = true
		}
		for range 4 {
			what := d.forget(&facts)
			for _, v := range Decide(facts, policy).Condemned() {
				if !before[v.Key] {
					t.Fatalf("without %s, %s goes as %s", what, v.Handle, v.Reason)
				}
			}
		}
	})
}

func FuzzWhatIsProtectedForeignOrUnreadableNeverGoes(f *testing.F) {
	draws(f, func(t *testing.T, d draw) {
		facts := d.facts()
		plan := Decide(facts, drawPolicy())
		for _, v := range plan.Condemned() {
			for _, s := range facts.Subjects {
				if s.Key() != v.Key || s.Sandbox == nil {
					continue
				}
				tags := s.Sandbox.Tags
				if tags[sandbox.TagProtect] == "yes" || tags[airflow.TagOwner] == "keep/b" || s.Sandbox.Problem != "" || s.Sandbox.State == sandbox.Ended {
					t.Errorf("%+v goes as %s", s.Sandbox, v.Reason)
				}
			}
		}
	})
}

// BenchmarkDecide judges ten thousand sandboxes, of which five hundred go.
func BenchmarkDecide(b *testing.B) {
	facts := looked()
	for i := range 10_000 {
		end := noon.Add(time.Hour)
		if i%20 == 0 {
			end = noon.Add(-time.Hour)
		}
		facts.Subjects = append(facts.Subjects, running(func(box *sandbox.Sandbox) {
			box.Handle = fmt.Sprintf("box-%05d", i)
			expiredAt(end)(box)
		}))
	}
	facts.Listed = len(facts.Subjects)
	policy := drawPolicy()
	b.ReportAllocs()
	for b.Loop() {
		if plan := Decide(facts, policy); len(plan.Condemned()) != 500 {
			b.Fatal(len(plan.Condemned()))
		}
	}
}

func TestEveryReasonIsDrawn(t *testing.T) {
	condemned := make(map[Reason]bool)
	for seed := range uint64(2000) {
		facts := draw{rand.New(rand.NewPCG(seed, 1))}.facts()
		for _, v := range Decide(facts, drawPolicy()).Verdicts {
			condemned[v.Reason] = condemned[v.Reason] || v.Outcome == Condemned
		}
	}
	for _, rule := range rules {
		if !condemned[rule.Reason] {
			t.Errorf("nothing drawn is ever condemned as %s", rule.Reason)
		}
	}
}
