// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Explanation is everything that counts for and against one thing.
type Explanation struct {
	verdict.Explanation

	Connection string `json:"connection"`
	Scope      string `json:"scope"`
}

// ErrNoSuchThing is Explain's and Retry's answer for a handle that is neither a
// sandbox nor a leftover, and Retry's for one that has no mark.
var ErrNoSuchThing = errors.New("no such sandbox or leftover")

// Explain reads one sandbox or leftover of the named connection afresh and
// judges it. It changes nothing.
func Explain(ctx context.Context, opts Options, connection, handle string) (Explanation, error) {
	r := begin(ctx, opts)
	p, err := r.named(connection)
	if err != nil {
		return Explanation{}, err
	}
	if err := r.load(ctx); err != nil {
		return Explanation{}, err
	}
	if _, err := r.identify(ctx, p); err != nil { // which tells its clock too
		return Explanation{}, fmt.Errorf("read %s#%s: %w", connection, handle, err)
	}
	subject, facts, err := r.find(ctx, p, handle)
	if err != nil {
		return Explanation{}, fmt.Errorf("read %s#%s: %w", connection, handle, err)
	}
	facts.Subjects = []verdict.Subject{subject}
	r.hear(ctx, p, &facts)
	return Explanation{
		Explanation: verdict.Explain(subject, &facts, p.Policy),
		Connection:  connection,
		Scope:       p.Backend.Scope(),
	}, nil
}

// named returns the one place to deal with.
func (r *run) named(connection string) (*place, error) {
	for _, p := range r.places {
		if p.Name != connection {
			continue
		}
		if p.Backend == nil {
			return nil, fmt.Errorf("open connection %q: %w", connection, p.OpenError)
		}
		return p, nil
	}
	return nil, fmt.Errorf("there is no connection %q", connection)
}

// find reads a sandbox by its handle, and else looks for a leftover of that name.
func (r *run) find(ctx context.Context, p *place, handle string) (verdict.Subject, verdict.Facts, error) {
	box, err := p.Backend.Get(ctx, sandbox.Ref{Handle: handle})
	if err == nil {
		facts := p.unlisted(r)
		return verdict.Subject{Sandbox: &box}, facts, nil
	}
	if _, leaves := p.Backend.(backend.Leftovers); !leaves || !errors.Is(err, backend.ErrNotFound) {
		return verdict.Subject{}, verdict.Facts{}, noSuchThing(err)
	}
	facts, err := r.survey(ctx, p, func(v verdict.Verdict) bool { return !v.Leftover || v.Handle != handle })
	switch {
	case len(facts.Subjects) > 0:
		return facts.Subjects[0], facts, nil
	case err != nil:
		return verdict.Subject{}, facts, err
	}
	return verdict.Subject{}, facts, ErrNoSuchThing
}

func noSuchThing(err error) error {
	if errors.Is(err, backend.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNoSuchThing, err)
	}
	return err
}

// unlisted are the facts of a place where only one sandbox was read.
func (p *place) unlisted(r *run) verdict.Facts {
	return verdict.Facts{
		Now:        r.Clock.Now(),
		LastLook:   p.known.LastLook,
		LastCount:  p.known.LastCount,
		Marks:      p.known.Marks,
		ServerEnds: p.Backend.Capabilities().ServerEnds,
		ClockDoubt: clockDoubt(p),
		Airflow:    p.untold(),
	}
}

// Retry lets the next run ask again for what is quarantined or backing off
// under handle at the named connection. It answers ErrNoSuchThing when nothing
// is remembered under that handle, ErrBusy while a run holds the document or when
// one took it meanwhile, and ErrDocument when the document cannot be used.
func Retry(ctx context.Context, opts Options, connection, handle string) error {
	r := begin(ctx, opts)
	p, err := r.named(connection)
	if err != nil {
		return err
	}
	if err := r.load(ctx); err != nil {
		return err
	}
	if holder := r.document.Run; r.live(holder) {
		return fmt.Errorf("%w: %s until %s", ErrBusy, holder.Host, holder.Until.Format("15:04:05 MST"))
	}
	p.marks = make(verdict.Marks, len(p.known.Marks))
	found := false
	for key, mark := range p.known.Marks {
		if key.Handle == handle {
			found = true
			mark.Attempts, mark.Next = 0, r.started
		}
		p.marks[key] = mark
	}
	if !found {
		return fmt.Errorf("retry %s#%s: %w is waiting under that handle", connection, handle, ErrNoSuchThing)
	}
	scope := p.known
	scope.Marks = p.marks
	document := r.document
	document.Scopes[p.Backend.Scope()] = scope
	switch err := r.save(ctx, document); {
	case errors.Is(err, ErrConflict):
		return fmt.Errorf("retry %s#%s: %w now", connection, handle, ErrBusy)
	case err != nil:
		return fmt.Errorf("retry %s#%s: %w: %w", connection, handle, ErrDocument, err)
	}
	return nil
}
