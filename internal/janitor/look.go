// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// lookAtAll looks at every place, in parallel and independently: one that fails
// or hangs says nothing about the others.
func (r *run) lookAtAll(ctx context.Context) {
	seen := make(map[string]string)
	for _, p := range r.places {
		if err := p.unfit(seen); err != nil {
			p.look = Look{Error: err.Error(), Nothing: true}
		}
	}
	r.everywhere(func(p *place) {
		if !p.look.Nothing {
			r.lookAt(ctx, p)
		}
		if p.look.Complete {
			p.look.LastComplete = p.facts.Now
		} else {
			p.look.LastComplete = p.known.LastComplete
			r.Log.Warn("the look is not complete", "connection", p.Name, "error", p.look.Error)
		}
	})
}

func (r *run) lookAt(ctx context.Context, p *place) {
	ctx, cancel := context.WithTimeout(ctx, r.ListTimeout)
	defer cancel()
	began := r.Clock.Now()
	last := p.known.Place
	identity, err := r.identify(ctx, p)
	if err == nil {
		if last != "" && identity != last {
			p.known = Scope{} // what is remembered is of another place
		}
		p.facts, err = r.survey(ctx, p, p.lets)
		p.facts.Place, p.facts.LastPlace = identity, last
	}
	p.look = Look{Complete: err == nil, Took: r.Clock.Now().Sub(began)}
	if err != nil {
		p.look.Error, p.look.Nothing = err.Error(), p.facts.Listed == 0
	}
}

// identify asks who answers at a place: the same address leads to another one
// with other credentials, and on another machine.
func (r *run) identify(ctx context.Context, p *place) (identity string, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("find out who answers: the backend panicked: %v", cause)
		}
	}()
	if !p.Backend.Capabilities().Identity {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.CallTimeout)
	defer cancel()
	status, err := p.Backend.Check(ctx)
	switch {
	case err != nil:
		return "", fmt.Errorf("find out who answers: %w", err)
	case status.Identity == "":
		return "", fmt.Errorf("%w: it does not say which place it is", backend.ErrUnavailable)
	}
	return status.Identity, nil
}

// unfit says why a place cannot be looked at, of those that were seen before it.
func (p *place) unfit(seen map[string]string) error {
	if p.Backend == nil {
		if p.OpenError == nil {
			return errors.New("the connection was not opened")
		}
		return p.OpenError
	}
	scope := p.Backend.Scope()
	if other, twice := seen[scope]; twice {
		return fmt.Errorf("it is the same place as the connection %q: remove one of the two", other)
	}
	seen[scope] = p.Name
	return nil
}

// lets reports whether a subject is plainly nothing to remember: then it is
// counted and let go, so that ten thousand of them take no memory.
func (p *place) lets(v verdict.Verdict) bool {
	if _, marked := p.known.Marks[v.Key]; marked {
		return false
	}
	return !p.unheard(v) && p.tally(v) // what can be asked about is kept for that, and what cannot to be named
}

// survey lists a place once, sandboxes first and then what they left behind.
// Subjects of which letGo says so are left out of the facts. An error means
// that the facts are not complete.
func (r *run) survey(ctx context.Context, p *place, letGo func(verdict.Verdict) bool) (facts verdict.Facts, err error) {
	facts = verdict.Facts{
		Now:        r.Clock.Now(),
		LastLook:   p.known.LastLook,
		LastCount:  p.known.LastCount,
		Marks:      p.known.Marks,
		ServerEnds: p.Backend.Capabilities().ServerEnds,
		Complete:   true, // the doubt of an early end comes last, and only weakens
		InUse:      make(map[string]struct{}),
		Airflow:    p.untold(),
	}
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("list: the backend panicked: %v", cause)
		}
		facts.Complete = err == nil
		facts.ClockDoubt = clockDoubt(p)
	}()
	consider := func(s verdict.Subject) {
		facts.Subjects = append(facts.Subjects, s)
		if last := len(facts.Subjects) - 1; letGo(r.judge(&facts, p.Policy, last)) {
			facts.Subjects = facts.Subjects[:last]
		}
	}
	leftovers, leaves := p.Backend.(backend.Leftovers)
	for box, err := range p.Backend.List(ctx) {
		if err != nil {
			return facts, fmt.Errorf("list sandboxes: %w", err)
		}
		facts.Listed++
		if leaves {
			for _, path := range box.Workspaces {
				facts.InUse[path] = struct{}{}
			}
		}
		consider(verdict.Subject{Sandbox: &box})
	}
	if !leaves {
		return facts, nil
	}
	for left, err := range leftovers.Leftovers(ctx) {
		if err != nil {
			return facts, fmt.Errorf("list leftovers: %w", err)
		}
		facts.Leftovers++
		consider(verdict.Subject{Leftover: &left})
	}
	return facts, nil
}

// clockDoubt compares the backend's clock with ours, where it has its own. Half
// of the grace by which a date must be past is the most that may lie between. Only
// a person can vouch for a clock that nothing is compared with.
func clockDoubt(p *place) string {
	server, ok := p.Backend.(backend.ServerClock)
	if !ok {
		return "" // it lives by this machine's clock
	}
	ahead, known := server.Ahead()
	switch limit := p.Policy.SkewLimit(); {
	case !known && !p.Policy.TrustHostClock:
		return "the backend does not tell its time, so nothing shows that the clock of this machine is right: where NTP keeps it, say so with trust_host_clock: true on the connection, in the configuration"
	case known && ahead.Abs() > limit:
		return fmt.Sprintf("the backend's clock and ours are %s apart, and %s is the most at which a date can be believed: correct the clock of this machine", ahead.Abs().Round(time.Second), limit)
	}
	return ""
}

// fresh reads one subject again, and returns the facts of this moment with it
// alone. The answer is ErrNotFound only where it is definitely gone.
func (r *run) fresh(ctx context.Context, p *place, key verdict.Key) (verdict.Facts, error) {
	if key.Leftover {
		return r.freshLeftover(ctx, p, key)
	}
	facts := p.facts
	box, err := p.Backend.Get(ctx, key.Ref)
	facts.Now, facts.LookBegan = r.Clock.Now(), p.facts.Now
	facts.ClockDoubt = clockDoubt(p)
	facts.Subjects = []verdict.Subject{{Sandbox: &box}}
	switch {
	case err != nil:
		return facts, err
	case box.Ref != key.Ref:
		return facts, fmt.Errorf("%w: %s %s was asked for, and %s %s answered",
			backend.ErrConflict, key.Handle, key.Incarnation, box.Handle, box.Incarnation)
	case box.State == sandbox.Ended:
		return facts, backend.ErrNotFound
	}
	return facts, nil
}

// freshLeftover looks again at everything: whether a leftover is used shows
// only in the sandboxes, and that it is gone only in a complete look.
func (r *run) freshLeftover(ctx context.Context, p *place, key verdict.Key) (verdict.Facts, error) {
	facts, err := r.survey(ctx, p, func(v verdict.Verdict) bool { return v.Key != key })
	facts.LookBegan = p.facts.Now
	switch {
	case err != nil:
		return facts, err
	case facts.Listed == 0 && p.standing() > 0:
		return facts, fmt.Errorf("%w: nothing is listed where %d should stand", backend.ErrUnavailable, p.standing())
	case len(facts.Subjects) == 0:
		return facts, backend.ErrNotFound
	}
	return facts, nil
}
