// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// orphan is a sandbox whose run is over, and that nobody holds.
func orphan() sandbox.Sandbox {
	box := claimed("box")
	box.Tags[airflow.TagOwner] = dagRun.Owner()
	delete(box.Tags, airflow.TagHolder)
	delete(box.Tags, sandbox.TagManagedBy)
	return box
}

var toAttach = backend.Capabilities{Attachable: true, Tags: backend.TagsEditable}

// attachable is a place of box and another, to which Airflow attaches, and a
// deployment in which the run is over.
func attachable(t *testing.T, box sandbox.Sandbox) (*lab, *deployment, Options) {
	t.Helper()
	l, d := newLab(box, alive("other")), ended()
	l.can = toAttach
	opts := believing(t, l, d)
	d.Runs[dagRun] = airflow.RunAnswer{State: "success", EndedAt: noon.Add(-time.Hour)}
	opts.Settle = time.Nanosecond
	opts.Connections[0].Policy.Modes["stale_holder"] = verdict.Report // else it would be released, and go at the next look
	expect(t, "so does the next", said(sweep(t, opts)), nil)
	opts.advance(10 * time.Minute)
	d.asked = nil
	return l, d, opts
}

// locked is how often the tags of box were written with a claim of a destroy.
func (l *lab) locked() (times int) {
	for _, tags := range l.written {
		if _, marked := tags[sandbox.TagTeardownAt]; marked && sandbox.IsClaim(airflow.Holder(tags)) {
			times++
		}
	}
	return times
}

func TestWhatGoesOnAirflowsWordIsTakenFromAirflowFirst(t *testing.T) {
	held := orphan()
	held.Tags[airflow.TagHolder] = load.Holder() // which is over, too
	for name, box := range map[string]sandbox.Sandbox{"free": orphan(), "held by a task that is over": held} {
		l, _, opts := attachable(t, box)
		l.onDestroy = func(context.Context, sandbox.Ref) error {
			if holder := l.holder(); !sandbox.IsClaim(holder) {
				t.Errorf("%s: it is asked to go while %q holds it", name, holder)
			}
			return nil
		}
		expect(t, name, said(sweep(t, opts)), []string{"box reclaimed"})
		if l.locked() != 1 {
			t.Errorf("%s: written %v", name, l.written)
		}
	}
}

func TestWhatHasADateOfItsOwnIsNotTakenFromAirflowFirst(t *testing.T) {
	l := newLab(dead("box"))
	l.can = toAttach
	expect(t, "said", said(sweep(t, enforcing(l))), []string{"box reclaimed"})
	if len(l.written) > 0 {
		t.Errorf("written %v", l.written)
	}
}

// TestATaskThatComesWhileAirflowsWordIsFollowedIsNotKilled lets a task of the run
// come at each moment after the answer that condemns the sandbox.
func TestATaskThatComesWhileAirflowsWordIsFollowedIsNotKilled(t *testing.T) {
	running := func(d *deployment) {
		d.Runs[dagRun] = airflow.RunAnswer{State: "running"}
		d.lives("running", 2)
	}
	held := orphan()
	held.Tags[airflow.TagHolder] = load.Holder()
	for _, c := range []struct {
		name    string
		box     sandbox.Sandbox
		ask     int // before which it happens; 0: right after the first write
		happens func(*lab, *deployment)
		result  ActionResult
		holder  string
	}{
		{"another task attached before the claim", orphan(), 2, func(l *lab, _ *deployment) { l.tag(airflow.TagHolder, "etl/other/load") }, Spared, "etl/other/load"},
		{"a task took it over our claim", orphan(), 0, func(l *lab, _ *deployment) {
			l.tag(airflow.TagHolder, "etl/other/load")
			l.tag(sandbox.TagTeardownAt, "")
		}, Spared, "etl/other/load"},
		{"a task took it over our claim, and the mark stands", orphan(), 0, func(l *lab, _ *deployment) { l.tag(airflow.TagHolder, "etl/other/load") }, Spared, "etl/other/load"},
		{"the claim was taken off by hand", orphan(), 3, func(l *lab, _ *deployment) { l.tag(airflow.TagHolder, "") }, Spared, ""},
		{"the run was cleared after the claim", orphan(), 3, func(_ *lab, d *deployment) { running(d) }, Spared, ""},
		{"Airflow falls silent after the claim", orphan(), 3, func(_ *lab, d *deployment) { d.err = errors.New("502") }, Spared, ""},
		{"its task was let in by the old tag", held, 3, func(_ *lab, d *deployment) { running(d) }, Restored, load.Holder()},
		{"its task is tried again after its claim was taken off", held, 4, func(_ *lab, d *deployment) { running(d) }, Spared, ""},
		{"it ended", orphan(), 0, func(l *lab, _ *deployment) { clear(l.boxes) }, Vanished, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, d, opts := attachable(t, c.box)
			atMoment(l, d, c.ask, func() { c.happens(l, d) })
			expect(t, "said", said(sweep(t, opts)), []string{"box " + string(c.result)})
			if holder := l.holder(); holder != c.holder || len(l.asked) > 0 {
				t.Errorf("held by %q, want %q; asked to go %q", holder, c.holder, l.asked)
			}
			if at, marked := l.boxes[c.box.Ref].Tags[sandbox.TagTeardownAt]; marked {
				t.Errorf("the mark of a teardown is left: %s", at)
			}
			for key, mark := range opts.marks(t) {
				if !mark.Taken.IsZero() {
					t.Errorf("%s is still remembered as %+v", key.Handle, mark)
				}
			}
		})
	}
}

func TestADestroyThatFailsGivesTheSandboxBackToAirflow(t *testing.T) {
	l, _, opts := attachable(t, orphan())
	before := orphan().Tags
	l.onDestroy = func(context.Context, sandbox.Ref) error { return errors.New("permission denied") }
	expect(t, "said", said(sweep(t, opts)), []string{"box failed"})
	if after := l.boxes[orphan().Ref].Tags; len(after) != len(before) || after[airflow.TagHolder] != "" || l.locked() != 1 {
		t.Errorf("its tags are %v, and were %v; written %v", after, before, l.written)
	}
}

// A run that is killed once it has taken a sandbox keeps tasks out of it, and the
// teardown mark lets a later run finish.
func TestWhatAKilledRunHasTakenFromAirflowGoesAfterTheGraceOfATeardown(t *testing.T) {
	l, d, opts := attachable(t, orphan())
	opts.Gone = func(string) bool { return true }
	killedAtItsTags(t, l, d, opts, func() {})
	if !sandbox.IsClaim(l.holder()) || len(l.asked) > 0 {
		t.Fatalf("held by %q, asked %q", l.holder(), l.asked)
	}
	expect(t, "at once", said(sweep(t, opts)), nil)
	opts.advance(20 * time.Minute)
	expect(t, "after the grace", said(sweep(t, opts)), []string{"box reclaimed"})
}
