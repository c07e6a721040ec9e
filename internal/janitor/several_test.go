// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// rush lets n calls in only together, and counts how many there are at most.
type rush struct {
	n         int
	together  chan struct{}
	peak, now int
	gate      chan struct{} // holds the right to count
}

func newRush(n int) *rush {
	return &rush{n: n, together: make(chan struct{}), gate: make(chan struct{}, 1)}
}

func (r *rush) enter(context.Context, sandbox.Ref) error {
	r.gate <- struct{}{}
	r.now++
	if r.peak = max(r.peak, r.now); r.peak == r.n && r.now == r.n {
		select {
		case <-r.together:
		default:
			close(r.together)
		}
	}
	<-r.gate
	select {
	case <-r.together:
	case <-time.After(10 * time.Second):
		return errors.New("the others did not come")
	}
	r.gate <- struct{}{}
	r.now--
	<-r.gate
	return nil
}

func TestSeveralItemsOfOneConnectionGoAtOnceAndNoMoreThanThat(t *testing.T) {
	l := newLab(dead("a"), dead("b"), dead("c"), dead("d"), dead("e"), dead("f"), dead("g"))
	r := newRush(3)
	l.onDestroy = r.enter
	opts := enforcing(l)
	opts.PerConnection = 3
	result := sweep(t, opts)
	want := []string{"a reclaimed", "b reclaimed", "c reclaimed", "d reclaimed", "e reclaimed", "f reclaimed", "g reclaimed"}
	expect(t, "in the order in which they were chosen", said(result), want)
	if r.peak != 3 {
		t.Errorf("%d were in flight at once", r.peak)
	}
	slices.Sort(l.asked)
	expect(t, "each once", l.asked, []string{"a", "b", "c", "d", "e", "f", "g"})
}

func TestConfirmationsGoSeveralAtOnce(t *testing.T) {
	l := newLab(dead("a"), dead("b"), dead("c"), alive("alive"))
	slow := errors.New("not yet")
	l.onDestroy = func(context.Context, sandbox.Ref) error { return slow }
	opts := enforcing(l)
	opts.PerConnection = 3
	sweep(t, opts)
	for _, handle := range []string{"a", "b", "c"} {
		delete(l.boxes, dead(handle).Ref)
	}
	l.onGet = newRush(3).enter
	opts.advance(10 * time.Minute)
	expect(t, "confirmed", said(sweep(t, opts)), []string{"a reclaimed", "b reclaimed", "c reclaimed"})
}

func TestWhatHangsDelaysOnlyItself(t *testing.T) {
	l := newLab(dead("a"), dead("b"), dead("c"))
	others := make(chan struct{}, 2)
	l.onDestroy = func(ctx context.Context, ref sandbox.Ref) error {
		if ref.Handle != "a" {
			others <- struct{}{}
			return nil
		}
		<-others // "a" has an answer only when both others have theirs
		<-others
		return errors.New("denied")
	}
	opts := enforcing(l)
	opts.PerConnection = 2
	expect(t, "said", said(sweep(t, opts)), []string{"a failed", "b reclaimed", "c reclaimed"})
}
