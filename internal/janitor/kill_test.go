// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// TestKilledAtAnyCallTheNextRunsEndTheSame kills a run before and after each of
// its calls in turn, and lets others finish.
func TestKilledAtAnyCallTheNextRunsEndTheSame(t *testing.T) {
	want := killedAt(t, 0, false)
	if !strings.Contains(want, "box-80") || strings.Contains(want, "box-90") {
		t.Fatalf("without a kill, there is %s", want)
	}
	for call := 1; ; call++ {
		before := killedAt(t, call, false)
		after := killedAt(t, call, true)
		if before == "" {
			if call < 10 {
				t.Fatalf("a run has %d calls: too few to have swept anything", call-1)
			}
			t.Logf("killed at each of %d calls", call-1)
			return
		}
		if before != want || after != want {
			t.Errorf("killed at call %d, there is\n%s or\n%s, not\n%s", call, before, after, want)
		}
	}
}

// killedAt kills the first run at the given call, lets a day pass in calm, and
// returns what there is in the end; empty when the run has fewer calls.
func killedAt(t *testing.T, call int, after bool) string {
	t.Helper()
	w := newWorld(2, rules{})
	w.calm = true
	for _, s := range w.places {
		clear(s.boxes)
		for i := range 3 {
			w.put(s, fmt.Sprintf("box-8%d", i), simStart.Add(100*time.Hour))
			w.put(s, fmt.Sprintf("box-9%d", i), simStart.Add(-time.Hour))
		}
	}
	w.leave(w.places[1])
	for _, l := range w.places[1].left {
		l.CreatedAt, l.ChangedAt, l.Problem = simStart.Add(-9*time.Hour), simStart.Add(-9*time.Hour), ""
	}
	v := w.start()
	v.step() // to its first call
	for range call - 1 {
		if v.over {
			return ""
		}
		v.step()
	}
	if v.over {
		return ""
	}
	v.killed, v.killedAfter = call > 0 && !after, after
	w.finish()
	for range 36 {
		w.pass(10 * time.Minute)
		w.start()
		w.finish()
	}
	if len(w.damage) > 0 {
		t.Errorf("killed at call %d: %s", call, w.damage)
	}
	var there []string
	for _, s := range w.places {
		for ref := range s.boxes {
			there = append(there, s.name+"#"+ref.Handle)
		}
		for ref := range s.left {
			there = append(there, s.name+"#"+ref.Handle)
		}
	}
	slices.Sort(there)
	return fmt.Sprintf("%s; held %t", there, w.store.Run.ID != "")
}

// put makes a sandbox two days old that ends at end.
func (w *world) put(s *site, handle string, end time.Time) {
	b := &box{}
	b.Ref = sandbox.Ref{Handle: handle, Incarnation: "1"}
	b.State, b.TagsKnown = sandbox.Running, true
	b.CreatedAt, b.StateSince = w.now.Add(-48*time.Hour), w.now.Add(-48*time.Hour)
	b.Tags = sandbox.Tags{airflow.TagSandbox: handle, airflow.TagExpiresAt: airflow.FormatExpiry(end)}
	if s.remote {
		b.ServerEnds = end
	}
	s.boxes[b.Ref] = b
}
