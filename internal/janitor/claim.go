// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrBusy is Retry's answer while another run holds the document, or took it.
var ErrBusy = errors.New("another run holds the janitor's document")

// ErrDocument is the answer where the document can not be read or saved.
var ErrDocument = errors.New("the janitor's document cannot be used")

// claim takes the document, and returns the run that holds it otherwise.
func (r *run) claim(ctx context.Context) (*Run, error) {
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	if holder := r.document.Run; r.live(holder) {
		return &holder, nil
	}
	claimed := r.document
	claimed.Run = Run{
		ID:      r.id,
		Host:    r.Host,
		Process: r.Process,
		Until:   r.started.Add(r.longest()),
	}
	err := r.save(ctx, claimed)
	if errors.Is(err, ErrConflict) {
		if err := r.load(ctx); err != nil {
			return nil, err
		}
		holder := r.document.Run
		return &holder, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: claim it: %w", ErrDocument, err)
	}
	return nil, nil
}

// longest is how long a run can last: what was read before its deadline still
// checks the claim, is asked to go and is read again, which of a leftover takes a
// whole listing, of a claim a read, a question and putting it back, and of what is
// locked first all of that twice; then all is saved.
func (r *run) longest() time.Duration {
	return r.RunDeadline + max(r.ListTimeout, 9*r.CallTimeout+r.Settle) + 3*r.CallTimeout + r.StopGrace
}

// live reports whether holder may still be at work. A claim that reaches
// further than any run can last was written by a clock that was wrong.
func (r *run) live(holder Run) bool {
	now := r.Clock.Now()
	furthest := now.Add(2 * MaxRunDeadline)
	if holder.ID == "" || !now.Before(holder.Until) || holder.Until.After(furthest) {
		return false
	}
	return r.Gone == nil || !r.Gone(holder.Process)
}

// overtaken says why the document may no longer be ours; empty: it is, being
// as we saved it. A host that slept, or whose clock was set, may wake with its
// claim long lapsed.
func (r *run) overtaken(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, r.CallTimeout)
	defer cancel()
	newest, err := r.Store.Newest(ctx)
	switch {
	case err != nil:
		return "the claim could not be checked: " + err.Error()
	case newest != r.version:
		return "another run has taken the document"
	}
	return ""
}

// save replaces the document, if it is still the one that was read. After an
// error it reads again, because it may have been saved all the same.
func (r *run) save(ctx context.Context, document Document) error {
	ctx, cancel := context.WithTimeout(ctx, r.CallTimeout)
	defer cancel()
	version, err := r.Store.Save(ctx, document, r.version)
	if err != nil {
		stored, found, loadErr := r.Store.Load(ctx)
		if loadErr != nil || !same(stored, document) {
			return err
		}
		version = found
	}
	r.document, r.version = document, version
	return nil
}

func same(a, b Document) bool {
	left, leftErr := json.Marshal(a)
	right, rightErr := json.Marshal(b)
	return leftErr == nil && rightErr == nil && bytes.Equal(left, right)
}

// saveIntents remembers, before anything is asked, all that will be asked. A
// crash then leaves what the next run reads again.
func (r *run) saveIntents(ctx context.Context) error {
	chosen := 0
	for _, p := range r.places {
		for _, v := range p.chosen {
			p.intend(v, r.Clock.Now())
			chosen++
		}
	}
	if chosen == 0 {
		return nil
	}
	return r.save(ctx, r.remember())
}

// saveOutcomes remembers what came of it, and gives the document back.
func (r *run) saveOutcomes(ctx context.Context) error {
	document := r.remember()
	document.Run = Run{}
	if err := r.save(ctx, document); err != nil {
		return fmt.Errorf("save the outcomes: %w", err)
	}
	return nil
}
