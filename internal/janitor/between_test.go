// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// What may happen between the listing and the destroy, and must stop it.

func TestDeadForAnotherReasonThanListedIsLeftToTheNextRun(t *testing.T) {
	l := newLab(dead("torn"))
	l.onGet = func(_ context.Context, ref sandbox.Ref) error {
		if b, ok := l.boxes[ref]; ok {
			b.Tags = alive("").Tags
			b.Tags[sandbox.TagTeardownAt] = airflow.FormatExpiry(noon.Add(-time.Hour))
			l.boxes[ref] = b
		}
		return nil
	}
	opts := enforcing(l)
	expect(t, "first", said(sweep(t, opts)), []string{"torn spared"})
	expect(t, "second", said(sweep(t, opts)), []string{"torn reclaimed"})
}

func TestDeadlineDuringTheFreshReadComesBeforeTheDestroy(t *testing.T) {
	l := newLab(dead("first"), dead("second"))
	opts := enforcing(l)
	reads := 0
	l.onGet = func(context.Context, sandbox.Ref) error {
		reads++
		opts.advance(11 * time.Minute)
		return nil
	}
	expect(t, "said", said(sweep(t, opts)), []string{"first postponed", "second postponed"})
	if len(l.asked) > 0 || reads != 1 {
		t.Errorf("asked %q, %d reads", l.asked, reads)
	}
}

func TestClockThatGoesBackDuringARunStopsIt(t *testing.T) {
	l := newLab(dead("dead"))
	opts := enforcing(l)
	l.onGet = func(context.Context, sandbox.Ref) error { opts.advance(-10 * time.Minute); return nil }
	expect(t, "said", said(sweep(t, opts)), []string{"dead spared"})
}

// remoteLab is a lab with a clock of its own.
type remoteLab struct {
	*lab
	ahead time.Duration
	known bool
}

func (l *remoteLab) Ahead() (time.Duration, bool) { return l.ahead, l.known }

func TestClocksThatDisagreeStopTheConnection(t *testing.T) {
	for _, c := range []struct {
		name         string
		ahead        time.Duration
		known        bool
		trusted      bool // a person vouches for our clock
		aheadAtRead  time.Duration
		exit         Exit
		left, spared bool
	}{
		{"they agree", time.Minute, true, false, time.Minute, ExitClean, false, false},
		{"not known", 0, false, false, 0, ExitRefused, true, false},
		{"not known, and ours is trusted", 0, false, true, 0, ExitClean, false, false},
		{"ours is behind", time.Hour, true, false, time.Hour, ExitRefused, true, false},
		{"ours is ahead", -time.Hour, true, false, -time.Hour, ExitRefused, true, false},
		{"ours is ahead, and trusted", -time.Hour, true, true, -time.Hour, ExitRefused, true, false},
		{"ours was set between listing and read", 0, true, false, -time.Hour, ExitClean, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := &remoteLab{newLab(dead("dead")), c.ahead, c.known}
			l.onGet = func(context.Context, sandbox.Ref) error { l.ahead = c.aheadAtRead; return nil }
			opts := enforcing(l.lab)
			opts.Connections[0].Backend, opts.Connections[0].Policy.TrustHostClock = l, c.trusted
			result := sweep(t, opts)
			if result.Exit != c.exit || (len(l.boxes) > 0) != c.left {
				t.Errorf("exit %d, left %q, refused %q", result.Exit, l.handles(), result.Connections[0].Refused)
			}
			if c.spared {
				expect(t, "said", said(result), []string{"dead spared"})
			}
		})
	}
}

func TestLeftoverIsNotRemovedWhenItsPlaceSuddenlySeemsEmpty(t *testing.T) {
	user := alive("user")
	l := newLab(user)
	l.leave("work")
	opts := enforcing(l)
	sweep(t, opts)
	opts.advance(25 * time.Hour)
	lists := 0
	l.onList = func(context.Context) error {
		if lists++; lists == 2 {
			delete(l.boxes, user.Ref)
		}
		return nil
	}
	expect(t, "said", said(sweep(t, opts)), []string{"work failed"})
	if len(l.left) != 1 {
		t.Error("it was removed")
	}
}

func TestPlaceThatWeEmptiedOurselvesMayBeEmpty(t *testing.T) {
	first := ending("first", noon.Add(-100*time.Hour))
	first.CreatedAt = noon.Add(-200 * time.Hour)
	l := newLab(first)
	l.leave("work")
	opts := enforcing(l)
	opts.Connections[0].Policy.Mode = verdict.Report
	sweep(t, opts)
	opts.advance(25 * time.Hour)
	opts.Connections[0].Policy.Mode = verdict.Enforce
	result := sweep(t, opts)
	expect(t, "in one run", said(result), []string{"first reclaimed", "work reclaimed"})
	if result := sweep(t, opts); result.Exit != ExitClean {
		t.Errorf("then: exit %d, refused %q", result.Exit, result.Connections[0].Refused)
	}
}

func TestPlaceThatOthersEmptiedIsBelievedAtTheSecondLook(t *testing.T) {
	l := newLab(alive("a"))
	opts := enforcing(l)
	sweep(t, opts)
	clear(l.boxes)
	for _, want := range []Exit{ExitRefused, ExitClean} {
		if result := sweep(t, opts); result.Exit != want {
			t.Errorf("exit %d, want %d", result.Exit, want)
		}
	}
}

func TestWhatAListingStillShowsAfterItWasAskedIsReclaimed(t *testing.T) {
	l := newLab(dead("dead"))
	l.onDestroy = func(context.Context, sandbox.Ref) error { return errStays }
	opts := enforcing(l)
	expect(t, "first", said(sweep(t, opts)), []string{"dead failed"})
	opts.advance(time.Hour)
	l.onGet = func(context.Context, sandbox.Ref) error { return backend.ErrNotFound }
	expect(t, "second", said(sweep(t, opts)), []string{"dead reclaimed"})
	opts.advance(time.Hour)
	result := sweep(t, opts)
	expect(t, "afterwards", said(result), nil)
	if counts := result.Connections[0].Counts; counts.Ended != 1 {
		t.Errorf("a listing that lags is believed: %+v", counts)
	}
}

func TestWhatVanishedByItselfIsNotSaidToBeReclaimed(t *testing.T) {
	l := newLab(dead("dead"))
	l.onGet = func(context.Context, sandbox.Ref) error { return backend.ErrNotFound }
	expect(t, "said", said(sweep(t, enforcing(l))), []string{"dead vanished"})
}

// tellingLab is a lab that tells whether a sandbox had ended before.
type tellingLab struct {
	*lab
	ended bool
}

func (l *tellingLab) DestroyTelling(ctx context.Context, ref sandbox.Ref) (bool, error) {
	return l.ended, l.Destroy(ctx, ref)
}

func TestWhatAnotherHasEndedIsNotSaidToBeReclaimed(t *testing.T) {
	for ended, want := range map[bool]string{true: "dead vanished", false: "dead reclaimed"} {
		l := &tellingLab{newLab(dead("dead")), ended}
		opts := enforcing(l.lab)
		opts.Connections[0].Backend = l
		expect(t, "said", said(sweep(t, opts)), []string{want})
	}
}

func TestWhatTheBackendOnlyRemembersIsGone(t *testing.T) {
	l := newLab(dead("dead"))
	l.onDestroy = func(_ context.Context, ref sandbox.Ref) error {
		b := l.boxes[ref]
		b.State = sandbox.Ended
		l.boxes[ref] = b
		return backend.ErrUnsupported // so that nothing is deleted
	}
	opts := enforcing(l)
	expect(t, "first", said(sweep(t, opts)), []string{"dead reclaimed"})
	expect(t, "second", said(sweep(t, opts)), nil)
}

func TestEndThatComesLaterIsConfirmedThoughItIsStillListed(t *testing.T) {
	l := newLab(dead("dead"))
	l.onDestroy = func(context.Context, sandbox.Ref) error { return errStays }
	opts := enforcing(l)
	sweep(t, opts)
	b := l.boxes[dead("dead").Ref]
	b.State = sandbox.Ended
	l.boxes[b.Ref] = b
	expect(t, "said", said(sweep(t, opts)), []string{"dead reclaimed"})
}

func TestFreshReadThatFailsIsNoDestroy(t *testing.T) {
	l := newLab(dead("dead"))
	l.onGet = func(context.Context, sandbox.Ref) error { return backend.ErrUnavailable }
	result := sweep(t, enforcing(l))
	expect(t, "said", said(result), []string{"dead failed"})
	if len(l.asked) > 0 || result.Exit != ExitPartial {
		t.Errorf("asked %q, exit %d", l.asked, result.Exit)
	}
}

func TestAnotherLifeUnderTheSameHandleIsNotDestroyed(t *testing.T) {
	l := newLab(dead("dead"))
	opts := enforcing(l)
	opts.Connections[0].Backend = reborn{l}
	result := sweep(t, opts)
	expect(t, "said", said(result), []string{"dead failed"})
	if len(l.asked) > 0 {
		t.Errorf("asked %q", l.asked)
	}
}

// reborn answers reads with the next life of the handle, against its promise.
type reborn struct{ *lab }

func (r reborn) Get(ctx context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	b, err := r.lab.Get(ctx, ref)
	b.Incarnation = "2"
	return b, err
}

func TestAHolderThatComesBetweenLookAndActIsSparedAndTheGraceBeginsAnew(t *testing.T) {
	box := alive("replaced")
	box.Tags[sandbox.TagRetiredAt] = airflow.FormatExpiry(noon.Add(-5 * time.Hour))
	l := newLab(box)
	opts := enforcing(l)
	sweep(t, opts)
	opts.advance(2 * time.Hour)
	held := func(holder string) {
		if holder == "" {
			delete(l.boxes[box.Ref].Tags, airflow.TagHolder)
		} else {
			l.boxes[box.Ref].Tags[airflow.TagHolder] = holder
		}
	}
	l.onGet = func(context.Context, sandbox.Ref) error { held("etl/run/task"); return nil }
	expect(t, "while a task attaches", said(sweep(t, opts)), []string{"replaced spared"})
	l.onGet = nil
	for _, step := range []struct {
		holder string
		want   []string
	}{
		{"", nil}, // it left before the next look
		{"etl/run/task", nil},
		{"", nil},
	} {
		held(step.holder)
		opts.advance(40 * time.Minute)
		expect(t, "with holder "+step.holder, said(sweep(t, opts)), step.want)
	}
	opts.advance(time.Hour)
	expect(t, "free for the grace", said(sweep(t, opts)), []string{"replaced reclaimed"})
}
