// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Why something that was chosen is put off.
const (
	notApproved  = "it was not shown when approval was asked for"
	overDeadline = "the run's deadline is reached"
	overStop     = "the run was stopped"
)

// act carries out what was chosen: each place on its own, each item alone.
func (r *run) act(ctx context.Context) {
	r.everywhere(func(p *place) {
		p.actions = append(p.actions, r.several(p.chosen, func(v verdict.Verdict) *Action {
			result, detail := r.reclaim(ctx, p, v)
			return r.settle(p, v, result, detail)
		})...)
	})
}

// everywhere works at all places, some of them at once.
func (r *run) everywhere(work func(*place)) {
	var group errgroup.Group
	group.SetLimit(r.Parallel)
	for _, p := range r.places {
		group.Go(func() error { work(p); return nil })
	}
	_ = group.Wait() // no work returns an error: each is settled on its own
}

// several works on items of one place, some of them at once, and returns what
// was done in their order.
func (r *run) several(items []verdict.Verdict, work func(verdict.Verdict) *Action) []Action {
	done := make([]*Action, len(items))
	var group errgroup.Group
	group.SetLimit(r.PerConnection)
	for i, v := range items {
		group.Go(func() error { done[i] = work(v); return nil })
	}
	_ = group.Wait() // nor does this one
	var actions []Action
	for _, action := range done {
		if action != nil {
			actions = append(actions, *action)
		}
	}
	return actions
}

// over says why nothing new may be begun; empty: it may.
func (r *run) over() string {
	switch {
	case r.stopped():
		return overStop
	case r.Clock.Now().Sub(r.started) >= r.RunDeadline:
		return overDeadline
	}
	return ""
}

// reclaim is one attempt: read it again, judge it again, ask once, read once.
func (r *run) reclaim(ctx context.Context, p *place, v verdict.Verdict) (result ActionResult, detail string) {
	defer func() {
		if cause := recover(); cause != nil {
			result, detail = Failed, fmt.Sprintf("the backend panicked: %v", cause)
		}
	}()
	if why := r.over(); why != "" {
		return Postponed, why
	}
	facts, err := r.read(ctx, p, v.Key)
	switch {
	case errors.Is(err, backend.ErrNotFound) && !p.unasked[v.Key].Asked.IsZero():
		return Reclaimed, ""
	case errors.Is(err, backend.ErrNotFound):
		return Vanished, ""
	case err != nil:
		return Failed, "read it again: " + err.Error()
	}
	if v.Reason.NeedsAirflow() {
		facts.Airflow.Answers = airflow.Answers{}
		r.hear(ctx, p, &facts)
	}
	if now := r.judge(&facts, p.Policy, 0); !agree(now, v) {
		return Spared, contradiction(now)
	}
	if why := r.over(); why != "" {
		return Postponed, why
	}
	if why := r.overtaken(ctx); why != "" {
		return Postponed, why
	}
	switch {
	case v.Act == verdict.Release:
		return r.release(ctx, p, v, facts)
	case p.locks(v):
		return r.destroyLocked(ctx, p, v, facts)
	}
	return r.destroy(ctx, p, facts.Subjects[0])
}

// destroy asks for the end once and reads once. What had ended before anybody here
// asked for it was somebody else's to reclaim, such as another janitor's.
func (r *run) destroy(ctx context.Context, p *place, s verdict.Subject) (ActionResult, string) {
	ended, asked := r.ask(ctx, p, s)
	_, err := r.read(ctx, p, s.Key())
	switch {
	case errors.Is(err, backend.ErrNotFound) && ended && p.unasked[s.Key()].Asked.IsZero():
		return Vanished, "it had ended when it was asked to"
	case errors.Is(err, backend.ErrNotFound):
		return Reclaimed, ""
	case asked != nil:
		return Failed, asked.Error()
	}
	return Asked, ""
}

// read is fresh within its time.
func (r *run) read(ctx context.Context, p *place, key verdict.Key) (verdict.Facts, error) {
	timeout := r.CallTimeout
	if key.Leftover {
		timeout = r.ListTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return r.fresh(ctx, p, key)
}

// ask asks the backend for the subject's end, and tells whether it had come, where
// the backend says so.
func (r *run) ask(ctx context.Context, p *place, s verdict.Subject) (ended bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.CallTimeout)
	defer cancel()
	if s.Sandbox != nil {
		if teller, tells := p.Backend.(backend.EndTeller); tells {
			return teller.DestroyTelling(ctx, s.Sandbox.Ref)
		}
		return false, p.Backend.Destroy(ctx, s.Sandbox.Ref)
	}
	leftovers, ok := p.Backend.(backend.Leftovers)
	if !ok {
		return false, fmt.Errorf("remove %s: %w", s.Leftover.Path, backend.ErrUnsupported)
	}
	return false, leftovers.Remove(ctx, *s.Leftover)
}

// agree reports whether what is condemned still is, for the same reason.
func agree(now, before verdict.Verdict) bool {
	return now.Outcome == verdict.Condemned && now.Reason == before.Reason && now.Claim == before.Claim
}

func contradiction(now verdict.Verdict) string {
	detail := "read again, it is " + now.Outcome.String()
	if now.Reason != "" {
		detail += " (" + string(now.Reason) + ")"
	}
	if now.Doubt != "" {
		detail += ": " + now.Doubt
	}
	return detail
}

// intend marks what is going to be asked. The wait for the next attempt begins
// with the outcome. Where none can be saved, the wait after one attempt less
// stands: a run that is killed leaves a first intent that is due at once, and a
// disk that stays full does not spend all attempts in a row.
func (p *place) intend(v verdict.Verdict, now time.Time) {
	if p.unasked == nil {
		p.unasked = make(verdict.Marks)
	}
	mark := p.marks[v.Key]
	p.unasked[v.Key] = mark
	mark.Attempts++
	mark.Next, mark.LastError = time.Time{}, ""
	if v.Act == verdict.Release || p.locks(v) && v.Claim.Holder != "" {
		mark.Claim, mark.Taken = v.Claim, now
	}
	if v.Act == verdict.Destroy {
		mark.Asked = now
	}
	if mark.Attempts > 1 {
		mark.Next = now.Add(verdict.BackOff(mark.Attempts - 1))
	}
	p.marks[v.Key] = mark
}

// settle records what is to be remembered of one attempt, and returns what came
// of it.
func (r *run) settle(p *place, v verdict.Verdict, result ActionResult, detail string) *Action {
	p.mu.Lock()
	defer p.mu.Unlock()
	mark := p.marks[v.Key]
	attempt := mark.Attempts
	switch result {
	case Reclaimed, Vanished:
		p.marks[v.Key] = verdict.Mark{Reason: v.Reason, First: mark.First, Gone: r.Clock.Now()}
	case Released, Restored:
		delete(p.marks, v.Key)
	case Asked, Failed: // of a release, mark.Taken stays: what came of it is not known
		mark.Next = r.Clock.Now().Add(verdict.BackOff(mark.Attempts))
		if result == Failed {
			mark.LastError = detail
		}
		p.marks[v.Key] = mark
	case Postponed, Spared:
		before, intended := p.unasked[v.Key]
		if result == Spared {
			before = before.StartOver()
		}
		if intended {
			p.marks[v.Key] = before
		} else if result == Spared { // an earlier run's release
			mark.Taken = time.Time{}
			p.marks[v.Key] = mark
		}
		attempt = 0
	}
	log := r.Log.Info
	if result == Postponed {
		log = r.Log.Debug
	}
	log(string(result), "connection", p.Name, "handle", v.Handle, "reason", v.Reason, "attempt", attempt, "detail", detail)
	return &Action{
		Key: v.Key, Act: v.Act, Reason: v.Reason, Result: result, At: r.Clock.Now(), Attempt: attempt, Detail: detail,
	}
}

// confirm reads by id what was asked to go before this run and is not listed
// any more. Only then is it reclaimed.
func (r *run) confirm(ctx context.Context) {
	r.everywhere(func(p *place) {
		p.actions = append(p.actions, r.several(p.unconfirmed(), func(v verdict.Verdict) *Action {
			if r.over() != "" || !r.isGone(ctx, p, v.Key) {
				return nil
			}
			return r.settle(p, v, Reclaimed, "confirmed")
		})...)
	})
}

func (r *run) isGone(ctx context.Context, p *place, key verdict.Key) (gone bool) {
	defer func() {
		if cause := recover(); cause != nil {
			r.Log.Error("the backend panicked", "connection", p.Name, "handle", key.Handle, "cause", cause)
			gone = false
		}
	}()
	_, err := r.read(ctx, p, key)
	return errors.Is(err, backend.ErrNotFound)
}
