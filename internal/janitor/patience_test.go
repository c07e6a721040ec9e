// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

func TestFiveAttemptsThenAPersonAndRetry(t *testing.T) {
	l := newLab(dead("stuck"))
	l.onDestroy = func(context.Context, sandbox.Ref) error { return errStays }
	opts := enforcing(l)
	for range 30 {
		sweep(t, opts)
		opts.advance(time.Hour)
	}
	if len(l.asked) != 5 {
		t.Errorf("asked %d times", len(l.asked))
	}
	result := sweep(t, opts)
	c := result.Connections[0]
	if v := c.Verdicts[0]; v.Outcome != verdict.Quarantined || v.Attempts != 5 || v.Error != "permission denied" {
		t.Errorf("judged %+v", v)
	}
	if c.Counts.NeedsYou != 1 || result.Exit != ExitPartial {
		t.Errorf("counted %+v, exit %d", c.Counts, result.Exit)
	}

	l.onDestroy = nil
	if err := Retry(t.Context(), opts, "a", "stuck"); err != nil {
		t.Fatal(err)
	}
	expect(t, "after retry", said(sweep(t, opts)), []string{"stuck reclaimed"})
	if err := Retry(t.Context(), opts, "a", "nothing"); !errors.Is(err, ErrNoSuchThing) {
		t.Errorf("retry of nothing: %v", err)
	}
}

func TestRetryWaitsForTheRunThatHoldsTheDocument(t *testing.T) {
	opts := enforcing(newLab())
	opts.Store = refusing{}
	if err := Retry(t.Context(), opts, "a", "x"); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
}

func TestRetryThatLostTheRaceIsBusy(t *testing.T) {
	opts := enforcing(newLab(dead("x")))
	opts.Connections[0].Policy.Mode = verdict.Report
	sweep(t, opts)
	opts.Store = rival{opts.Store}
	if err := Retry(t.Context(), opts, "a", "x"); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
}

func TestRetrySaysThatTheDocumentCannotBeUsed(t *testing.T) {
	opts := enforcing(newLab(dead("x")))
	opts.Connections[0].Policy.Mode = verdict.Report
	sweep(t, opts)
	opts.Store = &faulty{Store: opts.Store, failAt: []int{1}}
	if err := Retry(t.Context(), opts, "a", "x"); !errors.Is(err, ErrDocument) || !errors.Is(err, errReply) {
		t.Errorf("got %v", err)
	}
}

func TestWaitBetweenAttemptsDoubles(t *testing.T) {
	l := newLab(dead("stuck"))
	l.onDestroy = func(context.Context, sandbox.Ref) error { return errStays }
	opts := enforcing(l)
	var waits []time.Duration
	last := noon
	for range 400 {
		before := len(l.asked)
		sweep(t, opts)
		if now := opts.Clock.Now(); len(l.asked) > before && before > 0 {
			waits = append(waits, now.Sub(last))
			last = now
		}
		opts.advance(time.Minute)
	}
	want := []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute}
	if len(waits) != 4 || waits[0] != want[0] || waits[1] != want[1] || waits[2] != want[2] || waits[3] != want[3] {
		t.Errorf("waited %v", waits)
	}
}

func TestAMonthlyScheduleReclaimsWhatDiedBeforeTheLastRun(t *testing.T) {
	const month = 31 * 24 * time.Hour
	l := newLab(alive("first"))
	l.leave("trash")
	opts := enforcing(l)
	for i, want := range [][]string{
		nil,                                    // the first look
		nil,                                    // first ended since, trash is known since the last
		{"trash reclaimed", "first reclaimed"}, // third ended since
		{"third reclaimed"},
	} {
		expect(t, fmt.Sprintf("run %d", i+1), said(sweep(t, opts)), want)
		if i == 1 {
			third := ending("third", opts.Clock.Now().Add(time.Hour))
			third.CreatedAt = opts.Clock.Now()
			l.boxes[third.Ref] = third
		}
		opts.advance(month)
	}
}

func TestWhatTheFreshReadTellsIsNotBelievedOfAClockThatMayHaveBeenSet(t *testing.T) {
	l := newLab(dead("renewed"), alive("alive"))
	opts := enforcing(l)
	opts.Connections[0].Policy.Mode = verdict.Report
	sweep(t, opts)
	opts.Connections[0].Policy.Mode = verdict.Enforce
	opts.advance(9 * 24 * time.Hour)                           // so the clock says
	l.onGet = func(_ context.Context, ref sandbox.Ref) error { // the list lags
		box := l.boxes[ref]
		box.Tags = alive("").Tags
		l.boxes[ref] = box
		return nil
	}
	expect(t, "said", said(sweep(t, opts)), []string{"renewed spared"})
}
