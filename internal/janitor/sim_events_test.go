// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// pass lets true time go by, and with it come what comes by itself.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for _, s := range w.places {
		for _, ref := range refs(s.boxes) {
			b := s.boxes[ref]
			ends := b.mortal && w.now.After(b.ServerEnds.Add(35*time.Second))
			if ends || !b.goneAt.IsZero() && w.now.After(b.goneAt) {
				delete(s.boxes, ref)
			}
		}
	}
}

// event lets something happen that no janitor did.
func (w *world) event() {
	w.steps++
	if w.chance(0.15) {
		w.airflowEvent()
		return
	}
	s := w.places[w.IntN(len(w.places))]
	if !s.remote && w.chance(w.cfg.orphans) {
		w.leftoverEvent(s)
		return
	}
	if w.chance(0.35) {
		w.create(s)
		return
	}
	if b := w.pick(s); b != nil {
		w.boxEvent(s, b)
	}
}

func (w *world) boxEvent(s *site, b *box) {
	ends := w.now.Add(time.Minute + w.upTo(2*time.Hour))
	switch w.IntN(18) {
	case 0, 1: // renewed, wholly or in one of the two places
		if _, ok := b.Tags[airflow.TagExpiresAt]; ok && w.chance(0.8) {
			b.Tags[airflow.TagExpiresAt] = airflow.FormatExpiry(ends)
		}
		if s.remote && w.chance(0.8) && ends.After(b.ServerEnds) {
			b.ServerEnds = ends
		}
	case 2:
		b.Tags[sandbox.TagProtect] = []string{"yes", "false", "", "no", airflow.FormatExpiry(ends)}[w.IntN(5)]
	case 3:
		delete(b.Tags, sandbox.TagProtect)
	case 4:
		b.Tags[sandbox.TagTeardownAt] = airflow.FormatExpiry(w.now)
		if w.chance(0.2) { // and the destroy that asked was killed, or somebody attached outside a task
			b.Tags[airflow.TagHolder] = []string{"terraform:abcdefghijklmnopqrstuvwxyz", "terraform:lab/x"}[w.IntN(2)]
		}
	case 5:
		delete(b.Tags, sandbox.TagTeardownAt) // the owner took it back
	case 6: // its owner ends it
		if !b.stubborn {
			delete(s.boxes, b.Ref)
		}
	case 7:
		b.State, b.StateSince = []sandbox.State{sandbox.Stopping, sandbox.Failed}[w.IntN(2)], w.now
	case 8, 9:
		b.State, b.StateSince = sandbox.Running, w.now
	case 10:
		b.Problem = []string{"", "its record cannot be read"}[w.IntN(2)]
	case 11:
		b.Tags[airflow.TagOwner] = []string{"etl/r1", "keep/run"}[w.IntN(2)]
	case 12, 13: // Terraform makes another in its place, held or not
		b.Tags[sandbox.TagRetiredAt] = airflow.FormatExpiry(w.now)
		w.create(s)
	case 14:
		b.Tags[sandbox.TagRetiredAt] = "soon"
	case 15, 16, 17:
		w.attachment(b)
	}
}

func (w *world) leftoverEvent(s *site) {
	l := w.pickLeft(s)
	if l == nil || w.chance(0.3) {
		w.leave(s)
		return
	}
	switch w.IntN(10) {
	case 0:
		l.ChangedAt = w.now
	case 1:
		l.InUse = !l.InUse
	case 2, 3, 4: // a sandbox takes it
		if b := w.pick(s); b != nil {
			b.Workspaces = []string{l.Path}
		}
	case 5, 6:
		if b := w.pick(s); b != nil {
			b.Workspaces = nil
		}
	case 7:
		delete(s.left, l.Ref)
	case 8: // made anew under the same name
		delete(s.left, l.Ref)
		w.leave(s)
	}
}

// clockEvent sets the clock by which the janitors live. Where a place has no
// clock of its own, an error must be gross and pass within one run: nothing in
// the world tells of a clock that is wrong by an hour, or wrong for ever.
func (w *world) clockEvent(between bool) {
	hosted := !w.places[1].remote
	switch {
	case !hosted && w.chance(0.5):
		w.skew = w.upTo(72*time.Hour) - 24*time.Hour
	case !hosted && w.chance(0.1):
		w.skew = 400 * 24 * time.Hour
	case hosted && between && w.store.remembers(w) && w.chance(0.5):
		w.skew = 9*24*time.Hour + w.upTo(100*24*time.Hour)
	case hosted && between && w.store.remembers(w) && w.chance(0.3):
		w.skew = -w.upTo(1000 * time.Hour)
	default:
		w.skew = w.upTo(time.Minute) - 30*time.Second
	}
	w.jumps++
}
