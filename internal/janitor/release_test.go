// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

var (
	dagRun = airflow.DagRun{DagID: "etl", RunID: "scheduled__2026-11-30T09:00:00+00:00"}
	load   = airflow.TaskInstance{DagRun: dagRun, TaskID: "load", MapIndex: -1}
)

// deployment answers as it is told to, and says what it was asked.
type deployment struct {
	airflow.Answers

	mu     sync.Mutex
	err    error
	asked  []airflow.Questions
	before func(ask int) // what happens before the answer to that ask, from 1
}

func (d *deployment) Ask(_ context.Context, asked airflow.Questions) (airflow.Answers, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, asked)
	if d.before != nil {
		d.before(len(d.asked))
	}
	return d.Answers, d.err
}

// ended is a deployment in which the run and the task are over for an hour.
func ended() *deployment {
	d := &deployment{}
	d.ClockKnown = true
	d.Runs = map[airflow.DagRun]airflow.RunAnswer{dagRun: {State: "running"}}
	d.lives("failed", 1)
	return d
}

// lives says in what state the task is, in which try.
func (d *deployment) lives(state airflow.TaskState, try int) {
	answer := airflow.TaskAnswer{State: state, Try: try}
	if state.Terminal() {
		answer.EndedAt = noon.Add(-time.Hour)
	}
	d.Tasks = map[airflow.TaskInstance]airflow.TaskAnswer{load: answer}
}

// claimed is a sandbox that Terraform made for prod, and that the task holds.
func claimed(handle string) sandbox.Sandbox {
	box := alive(handle)
	box.Tags[sandbox.TagDeployment] = "prod"
	box.Tags[airflow.TagOwner] = "terraform:prod/x"
	box.Tags[airflow.TagHolder] = load.Holder()
	box.Tags["foreign"] = "\xff"
	return box
}

// believing are options under which d is believed at a lab, and looked at once
// already.
func believing(t *testing.T, l *lab, d *deployment) Options {
	t.Helper()
	opts := enforcing(l)
	opts.Airflow = map[string]Airflow{"prod": d}
	policy := &opts.Connections[0].Policy
	policy.Airflow = verdict.Deployment{Name: "prod", Marker: "prod"}
	policy.Modes["stale_holder"], policy.Modes["finished_owner"] = verdict.Enforce, verdict.Enforce
	expect(t, "the first look only marks", said(sweep(t, opts)), nil)
	opts.advance(10 * time.Minute)
	d.asked = nil
	return opts
}

// atMoment lets something happen before Airflow answers the ask of that number,
// or, with 0, right after the first write of tags.
func atMoment(l *lab, d *deployment, number int, happens func()) {
	d.before = func(ask int) {
		if ask == number {
			happens()
		}
	}
	l.onTags = func(context.Context, sandbox.Ref) error {
		if number == 0 && len(l.written) == 1 {
			happens()
		}
		return nil
	}
}

// holder is who holds the sandbox named box.
func (l *lab) holder() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.boxes[claimed("box").Ref].Tags[airflow.TagHolder]
}

// marks are what is remembered of the first place.
func (o Options) marks(t *testing.T) verdict.Marks {
	t.Helper()
	document, _, err := o.Store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return document.Scopes["lab:1"].Marks
}

func TestAReleaseChangesOneKeyAndDestroysNothing(t *testing.T) {
	l, d := newLab(claimed("box")), ended()
	opts := believing(t, l, d)
	result := sweep(t, opts)
	expect(t, "said", said(result), []string{"box released"})
	want := claimed("box").Tags
	delete(want, airflow.TagHolder)
	if diff := cmp.Diff([]sandbox.Tags{want}, l.written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if len(l.asked) > 0 || len(opts.marks(t)) > 0 || result.Exit != ExitClean {
		t.Errorf("asked to go %q, remembered %v, exit %d", l.asked, opts.marks(t), result.Exit)
	}
	if len(d.asked) != 3 {
		t.Errorf("asked %d times, want once for all, once before and once after the write", len(d.asked))
	}
	expect(t, "then", said(sweep(t, opts)), nil)
}

func TestSeveralClaimsAreReleasedAtOnceAndEachIsAskedAboutAlone(t *testing.T) {
	var boxes []sandbox.Sandbox
	for i := range 12 {
		boxes = append(boxes, claimed(fmt.Sprintf("box-%02d", i)))
	}
	l, d := newLab(boxes...), ended()
	opts := believing(t, l, d)
	opts.PerConnection, opts.Connections[0].Policy.Share = 4, 1
	result := sweep(t, opts)
	if len(said(result)) != 12 || len(d.asked) != 1+2*12 {
		t.Errorf("said %q, asked %d times", said(result), len(d.asked))
	}
	for _, box := range l.boxes {
		if _, held := box.Tags[airflow.TagHolder]; held {
			t.Errorf("%s is still held", box.Handle)
		}
	}
}

// TestWhateverComesBetweenAClaimIsNeverTakenFromALivingTask lets things happen at
// each of the moments at which a release can be met: before the second answer of
// Airflow (the fresh one), right after the write, and before the third answer.
func TestWhateverComesBetweenAClaimIsNeverTakenFromALivingTask(t *testing.T) {
	const fresh, after = 2, 3
	terraform := sandbox.NewClaim()
	for _, c := range []struct {
		name    string
		ask     int // before which it happens; 0: right after the write
		happens func(*lab, *deployment)
		result  ActionResult
		holder  string
	}{
		{"cleared before the write", fresh, func(_ *lab, d *deployment) { d.lives("", 1) }, Spared, load.Holder()},
		{"tried again before the write, and over", fresh, func(_ *lab, d *deployment) { d.lives("failed", 2) }, Spared, load.Holder()},
		{"Airflow falls silent before the write", fresh, func(_ *lab, d *deployment) { d.err = errors.New("502") }, Spared, load.Holder()},
		{"let go and held by another before the write", fresh, func(l *lab, _ *deployment) { l.tag(airflow.TagHolder, "etl/other/load") }, Spared, "etl/other/load"},
		{"tried again meanwhile: it was let in by the old tag", after, func(_ *lab, d *deployment) { d.lives("running", 2) }, Restored, load.Holder()},
		{"cleared meanwhile", after, func(_ *lab, d *deployment) { d.lives("", 1) }, Restored, load.Holder()},
		{"moved to another try, and over", after, func(_ *lab, d *deployment) { d.lives("failed", 2) }, Restored, load.Holder()},
		{"Airflow falls silent meanwhile", after, func(_ *lab, d *deployment) { d.err = errors.New("502") }, Restored, load.Holder()},
		{"its row is purged meanwhile", after, func(_ *lab, d *deployment) { clear(d.Tasks) }, Restored, load.Holder()},
		{"it attaches anew", 0, func(l *lab, d *deployment) { d.lives("running", 2); l.tag(airflow.TagHolder, load.Holder()) }, Spared, load.Holder()},
		{"the write is undone", 0, func(l *lab, _ *deployment) { l.tag(airflow.TagHolder, load.Holder()) }, Failed, load.Holder()},
		{"another attaches", 0, func(l *lab, _ *deployment) { l.tag(airflow.TagHolder, "etl/other/load") }, Released, "etl/other/load"},
		{"a destroy of Terraform's takes it", 0, func(l *lab, _ *deployment) { l.tag(airflow.TagHolder, terraform) }, Released, terraform},
		{"another attaches, and its task is tried again", 0, func(l *lab, d *deployment) { d.lives("running", 2); l.tag(airflow.TagHolder, "etl/other/load") }, Failed, "etl/other/load"},
		{"it ends", 0, func(l *lab, _ *deployment) { clear(l.boxes) }, Vanished, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, d := newLab(claimed("box")), ended()
			opts := believing(t, l, d)
			atMoment(l, d, c.ask, func() { c.happens(l, d) })
			expect(t, "said", said(sweep(t, opts)), []string{"box " + string(c.result)})
			if holder := l.holder(); holder != c.holder || len(l.asked) > 0 {
				t.Errorf("held by %q, want %q; asked to go %q", holder, c.holder, l.asked)
			}
			for _, mark := range opts.marks(t) {
				if mark.Taken.IsZero() == (c.result == Failed) {
					t.Errorf("after %s it is remembered as %+v", c.result, mark)
				}
			}
		})
	}
}

// TestARunThatIsKilledInAReleaseLeavesItToTheNext kills a run before and after the
// write, and lets the next one find the task in any state.
func TestARunThatIsKilledInAReleaseLeavesItToTheNext(t *testing.T) {
	for _, c := range []struct {
		name   string
		off    bool // the write took effect
		then   func(*lab, *deployment)
		said   []string
		holder string
	}{
		{"not written", false, func(*lab, *deployment) {}, nil, load.Holder()},
		{"written, and still over", true, func(*lab, *deployment) {}, []string{"box released"}, ""},
		{"written, and the task lives", true, func(_ *lab, d *deployment) { d.lives("running", 2) }, []string{"box restored"}, load.Holder()},
		{"written, and Airflow is down", true, func(_ *lab, d *deployment) { d.err = errors.New("502") }, []string{"box restored"}, load.Holder()},
		{"written, the task lives, and attached anew", true, func(l *lab, d *deployment) {
			d.lives("running", 2)
			l.tag(airflow.TagHolder, load.Holder())
		}, nil, load.Holder()},
		{"written, and another attached", true, func(l *lab, _ *deployment) { l.tag(airflow.TagHolder, "etl/other/load") }, []string{"box released"}, "etl/other/load"},
		{"written, and a teardown was asked for", true, func(l *lab, d *deployment) {
			d.lives("running", 2)
			l.tag(sandbox.TagTeardownAt, airflow.FormatExpiry(noon.Add(-time.Hour)))
		}, []string{"box restored"}, load.Holder()},
		{"written, and it ended", true, func(l *lab, _ *deployment) { clear(l.boxes) }, []string{"box vanished"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, d := newLab(claimed("box"), alive("other")), ended()
			opts := believing(t, l, d)
			box := l.boxes[claimed("box").Ref]
			opts.Gone = func(string) bool { return true }
			killedAtItsTags(t, l, d, opts, func() {
				if !c.off {
					l.boxes[box.Ref] = box
				}
			})
			c.then(l, d)
			result := sweep(t, opts)
			expect(t, "said", said(result), c.said)
			if holder := l.holder(); holder != c.holder || len(l.asked) > 0 {
				t.Errorf("held by %q, want %q; asked to go %q", holder, c.holder, l.asked)
			}
			for key, mark := range opts.marks(t) {
				if !mark.Taken.IsZero() {
					t.Errorf("%s is still remembered as %+v", key.Handle, mark)
				}
			}
		})
	}
}

func TestAReleaseThatKeepsFailingNeedsAPerson(t *testing.T) {
	l, d := newLab(claimed("box")), ended()
	opts := believing(t, l, d)
	l.onTags = func(context.Context, sandbox.Ref) error {
		l.tag(airflow.TagHolder, load.Holder())
		return errors.New("permission denied")
	}
	failed := 0
	for range 100 {
		for _, what := range said(sweep(t, opts)) {
			if what == "box failed" {
				failed++
			}
		}
		opts.advance(time.Hour)
	}
	if result := sweep(t, opts); failed != verdict.MaxAttempts || result.Connections[0].Verdicts[0].Outcome != verdict.Quarantined {
		t.Errorf("failed %d times, then %+v", failed, result.Connections[0].Verdicts)
	}
}

func TestAnUnsavedReleaseIsSaidOnceItIsSaved(t *testing.T) {
	l, d := newLab(claimed("box")), ended()
	opts := believing(t, l, d)
	memory := opts.Store
	opts.Store = &faulty{Store: memory, failAt: []int{3}}
	expect(t, "unsaved", said(sweep(t, opts)), []string{"box asked"})
	opts.Store = memory
	opts.advance(time.Hour) // the claim on the document has lapsed
	expect(t, "saved", said(sweep(t, opts)), []string{"box released"})
	expect(t, "afterwards", said(sweep(t, opts)), nil)
}

func TestWhatWaitsForAStaleHolderGoesOnceItIsReleased(t *testing.T) {
	box := claimed("box")
	box.Tags[sandbox.TagTeardownAt] = airflow.FormatExpiry(noon.Add(-time.Hour))
	l, d := newLab(box), ended()
	opts := believing(t, l, d)
	expect(t, "first", said(sweep(t, opts)), []string{"box released"})
	expect(t, "then", said(sweep(t, opts)), []string{"box reclaimed"})
}

func TestAFinishedOwnerIsDestroyedOnlyAfterAFreshAnswer(t *testing.T) {
	for _, c := range []struct {
		state airflow.RunState // before the destroy
		want  string
	}{{"success", "box reclaimed"}, {"queued", "box spared"}} {
		box := claimed("box")
		box.Tags[airflow.TagOwner] = dagRun.Owner()
		delete(box.Tags, airflow.TagHolder)
		delete(box.Tags, sandbox.TagManagedBy)
		l, d := newLab(box, alive("other")), ended()
		d.Runs[dagRun] = airflow.RunAnswer{State: "success", EndedAt: noon.Add(-time.Hour)}
		opts := believing(t, l, d)
		d.before = func(ask int) {
			if ask == 2 {
				d.Runs[dagRun] = airflow.RunAnswer{State: c.state, EndedAt: noon.Add(-time.Hour)}
			}
		}
		expect(t, string(c.state), said(sweep(t, opts)), []string{c.want})
	}
}

func TestAnAirflowThatIsNotHeardIsSaidAndChangesNothing(t *testing.T) {
	for _, c := range []struct {
		name    string
		silence func(*deployment)
		why     string
	}{
		{"down", func(d *deployment) { d.err = errors.New("connection refused") }, "connection refused"},
		{"its clock is wrong", func(d *deployment) { d.Ahead = -time.Hour }, "1h0m0s apart"},
		{"it panics", func(d *deployment) { d.before = func(int) { panic("bug") } }, "panicked: bug"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, d := newLab(claimed("box")), ended()
			opts := believing(t, l, d)
			marks := opts.marks(t)
			c.silence(d)
			result := sweep(t, opts)
			told := result.Connections[0]
			if told.Airflow == nil || !strings.Contains(told.Airflow.Error, c.why) || !told.Airflow.LastHeard.Equal(noon) {
				t.Errorf("heard %+v", told.Airflow)
			}
			if result.Exit != ExitPartial || len(told.Actions) > 0 || len(told.Verdicts) > 0 || told.Counts.Alive != 1 || told.Counts.Unheard != 1 {
				t.Errorf("exit %d, %+v", result.Exit, told)
			}
			if diff := cmp.Diff(marks, opts.marks(t)); diff != "" {
				t.Errorf("what is remembered changed: %s", diff)
			}
		})
	}
}

func TestAnAirflowThatCannotBeAskedIsSaidEvenWhereThereIsNothingToAsk(t *testing.T) {
	for _, box := range []sandbox.Sandbox{alive("box"), claimed("box")} {
		opts := enforcing(newLab(box))
		c := &opts.Connections[0]
		c.Policy.Airflow = verdict.Deployment{Name: "prod", Marker: "prod"}
		c.AirflowError = errors.New("set AIRFLOW_PROD_TOKEN")
		result := sweep(t, opts)
		if told := result.Connections[0].Airflow; told == nil || !strings.Contains(told.Error, "AIRFLOW_PROD_TOKEN") || result.Exit != ExitPartial {
			t.Errorf("heard %+v, exit %d", told, result.Exit)
		}
	}
}

func TestADoubtAboutOneNeedsNobody(t *testing.T) {
	l, d := newLab(claimed("box")), ended()
	d.Tasks = map[airflow.TaskInstance]airflow.TaskAnswer{load: {Doubt: "404: there is no such task instance"}}
	opts := believing(t, l, d)
	result := sweep(t, opts)
	c := result.Connections[0]
	if result.Exit != ExitClean || c.Counts.Unheard != 1 || c.Counts.NeedsYou != 0 || len(c.Verdicts) != 1 || !strings.Contains(c.Verdicts[0].Doubt, "404") {
		t.Errorf("exit %d, counted %+v, judged %+v", result.Exit, c.Counts, c.Verdicts)
	}
}

func TestOneAirflowIsAskedOnceForAllConnectionsThatNameIt(t *testing.T) {
	first, second, third := newLab(claimed("one"), claimed("two")), newLab(claimed("three")), newLab(alive("four"))
	prod, lab := ended(), ended()
	opts := enforcing(first, second, third)
	opts.Airflow = map[string]Airflow{"prod": prod, "lab": lab}
	for i, name := range []string{"prod", "prod", "lab"} {
		opts.Connections[i].Policy.Airflow = verdict.Deployment{Name: name, Marker: "prod"}
	}
	result := sweep(t, opts)
	if len(prod.asked) != 1 || len(prod.asked[0].Tasks) != 1 || len(lab.asked) != 1 || lab.asked[0].Len() != 0 {
		t.Errorf("asked %v and, about nothing, %v", prod.asked, lab.asked)
	}
	if a, c := result.Connections[0].Airflow, result.Connections[2].Airflow; a == nil || a.Asked != 1 || c == nil || c.Asked != 0 || !c.LastHeard.Equal(noon) {
		t.Errorf("heard %+v and %+v", a, c)
	}
}

func TestAnAirflowThatIsNotHeardIsSaidWhereNothingIsHeldAndSparesNothingExpired(t *testing.T) {
	l, d := newLab(dead("first")), ended()
	d.err = errors.New("401: the password is wrong")
	opts := enforcing(l)
	opts.Airflow = map[string]Airflow{"prod": d}
	opts.Connections[0].Policy.Airflow = verdict.Deployment{Name: "prod", Marker: "prod"}
	result := sweep(t, opts)
	expect(t, "reclaimed", said(result), []string{"first reclaimed"})
	if told := result.Connections[0].Airflow; told == nil || !strings.Contains(told.Error, "the password is wrong") || result.Exit != ExitPartial {
		t.Errorf("heard %+v, exit %d", told, result.Exit)
	}
	if len(d.asked) != 1 {
		t.Errorf("asked %v, want once about nothing", d.asked)
	}
}

func TestExplainAsksAirflowAboutTheOne(t *testing.T) {
	l, d := newLab(claimed("box")), ended()
	opts := believing(t, l, d)
	e, err := Explain(t.Context(), opts, "a", "box")
	if err != nil || e.Outcome != verdict.Condemned || e.Act != verdict.Release || len(d.asked) != 1 {
		t.Errorf("%+v, %v, asked %v", e, err, d.asked)
	}
}

func TestAPlaceWhoseTagsCannotBeEditedSaysSo(t *testing.T) {
	l, d := newLab(claimed("box")), ended()
	opts := believing(t, l, d)
	l.onTags = func(context.Context, sandbox.Ref) error {
		l.tag(airflow.TagHolder, load.Holder())
		return backend.ErrUnsupported
	}
	result := sweep(t, opts)
	expect(t, "said", said(result), []string{"box failed"})
	if a := result.Connections[0].Actions[0]; !strings.Contains(a.Detail, "edit the tags of sandbox box") {
		t.Errorf("it says %q", a.Detail)
	}
}

// killedAtItsTags is a run that is killed when it has written tags: the claim and
// the intent are saved before, then comes then, and after it nothing has an effect.
func killedAtItsTags(t *testing.T, l *lab, d *deployment, opts Options, then func()) {
	t.Helper()
	opts.Store = &faulty{Store: opts.Store, failAt: []int{3}}
	l.onTags = func(context.Context, sandbox.Ref) error {
		d.err = errors.New("killed")
		l.onGet = func(context.Context, sandbox.Ref) error { return errors.New("killed") }
		then()
		return nil
	}
	sweep(t, opts)
	l.onTags, l.onGet, d.err = nil, nil, nil
}
