// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package janitor looks at every connection, asks the Airflows that are believed
// there, lets package verdict decide, and acts. Every destroy and every release of
// a task's claim has a saved intent, a fresh agreeing read, and a hold on the one
// document that is the fence between two janitors. A run that is killed anywhere
// leaves nothing that the next one does not find.
package janitor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// run is one run in progress.
type run struct {
	Options

	id      string
	started time.Time
	stopped func() bool // nothing new may be begun

	document Document
	version  Version
	places   []*place // as Connections
}

// place is one connection within a run.
type place struct {
	Connection

	known   Scope // as it was remembered before this run; nothing, of another place
	moved   bool  // another place answers, and nobody has accepted that
	look    Look
	facts   verdict.Facts
	counts  Counts
	hearing *Hearing // nil: no Airflow is named
	plan    verdict.Plan

	unasked verdict.Marks // the marks of what is to be asked, as they were before
	chosen  []verdict.Verdict
	overCap int
	actions []Action

	mu    sync.Mutex    // guards marks while several items are worked on
	marks verdict.Marks // as they will be remembered
}

// Plan looks at every connection and decides. It changes nothing, not even the
// document, and another's live run does not stand in its way.
func Plan(ctx context.Context, opts Options) (Result, error) {
	r := begin(ctx, opts)
	if err := r.load(ctx); err != nil {
		return Result{}, err
	}
	r.decide(ctx)
	return r.result(), nil
}

// Sweep looks, decides and acts. An error means that the document could not be
// read or claimed, and that nothing was touched; everything else is in the
// Result. When ctx ends, nothing new is begun, calls in flight get StopGrace,
// and the outcomes are saved.
func Sweep(ctx context.Context, opts Options) (Result, error) {
	r := begin(ctx, opts)
	holder, err := r.claim(ctx)
	if err != nil {
		return Result{}, err
	}
	if holder != nil {
		return Result{RunID: r.id, Started: r.started, Ended: r.Clock.Now(), Acted: true, Busy: holder, Exit: ExitBusy}, nil
	}
	r.decide(ctx)
	r.choose()
	calls, done := r.outlive(ctx)
	defer done()
	unsaved := r.saveIntents(calls)
	r.finishReleases(calls)
	if unsaved == nil {
		r.act(calls)
	} else {
		r.postponeAll("the intents could not be saved: " + unsaved.Error())
	}
	r.confirm(calls)
	if err := r.saveOutcomes(context.WithoutCancel(ctx)); err != nil {
		r.withdraw()
		unsaved = errors.Join(unsaved, err)
	}
	result := r.result()
	result.Acted = true
	if unsaved != nil {
		result.Unsaved = unsaved.Error()
		result.Exit = result.exit()
	}
	return result, nil
}

func begin(ctx context.Context, opts Options) *run {
	r := &run{
		Options: opts.withDefaults(),
		id:      rand.Text(),
		started: opts.Clock.Now(),
		stopped: func() bool { return ctx.Err() != nil },
	}
	r.Log = r.Log.With("run", r.id)
	for _, c := range opts.Connections {
		r.places = append(r.places, &place{Connection: c})
	}
	return r
}

// outlive returns a context for calls in flight: it ends StopGrace after ctx.
func (r *run) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(r.StopGrace, cancel) })
	return calls, func() { unhook(); cancel() }
}

// decide looks at every place, each on its own, and judges what was seen.
func (r *run) decide(ctx context.Context) {
	r.lookAtAll(ctx)
	r.hearAll(ctx)
	for _, p := range r.places {
		if p.look.Nothing {
			p.marks = p.known.Marks
			continue
		}
		policy := p.Policy
		if r.blind != nil {
			r.blind(&p.facts, &policy)
		}
		p.plan = verdict.Decide(p.facts, policy)
		p.moved = p.facts.Moved() && len(p.plan.Refused) > 0
		p.marks = verdict.Remember(p.facts, p.plan)
		p.count()
		for _, why := range p.plan.Refused {
			r.Log.Warn("refused to touch anything", "connection", p.Name, "why", why)
		}
	}
}

// judge judges one of the subjects in facts.
func (r *run) judge(facts *verdict.Facts, policy verdict.Policy, subject int) verdict.Verdict {
	if r.blind != nil {
		r.blind(facts, &policy)
	}
	return verdict.Judge(facts.Subjects[subject], facts, policy)
}

// postpone puts off one thing that could have been asked to go.
func (r *run) postpone(p *place, v verdict.Verdict, why string) {
	p.actions = append(p.actions, *r.settle(p, v, Postponed, why))
}

// postponeAll puts off what was chosen and forgets that it was to be asked.
func (r *run) postponeAll(why string) {
	for _, p := range r.places {
		for _, v := range p.chosen {
			r.postpone(p, v, why)
		}
		p.chosen = nil
	}
}

// withdraw takes back what may only be said once it is remembered as said.
func (r *run) withdraw() {
	for _, p := range r.places {
		for i := range p.actions {
			switch a := &p.actions[i]; a.Result {
			case Reclaimed:
				a.Result, a.Detail = Asked, "it is absent, which the next run will confirm"
			case Released:
				a.Result, a.Detail = Asked, "its claim is off, which the next run will confirm"
			}
		}
	}
}

// load reads the document and what is known of every place.
func (r *run) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.CallTimeout)
	defer cancel()
	document, version, err := r.Store.Load(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrDocument, err)
	case document.Schema > DocumentSchema:
		return fmt.Errorf("%w: its schema is %d, and this program knows up to %d: use the newer program", ErrDocument, document.Schema, DocumentSchema)
	}
	document.Schema = DocumentSchema
	if document.Scopes == nil {
		document.Scopes = make(map[string]Scope)
	}
	r.document, r.version = document, version
	for _, p := range r.places {
		if p.Backend != nil {
			p.known = document.Scopes[p.Backend.Scope()]
		}
	}
	return nil
}

// remember puts what is to be remembered of every place into a new document.
func (r *run) remember() Document {
	document := r.document
	document.Scopes = maps.Clone(document.Scopes)
	for _, p := range r.places {
		if p.look.Nothing || p.moved {
			continue
		}
		scope := p.known
		scope.Place, scope.LastLook = p.facts.Place, p.facts.Now
		if p.hearing != nil {
			scope.LastHeard = p.hearing.LastHeard
		}
		if p.look.Complete {
			scope.LastComplete, scope.LastCount = p.facts.Now, p.standing()
		}
		scope.Marks = maps.Clone(p.marks)
		document.Scopes[p.Backend.Scope()] = scope
	}
	return document
}
