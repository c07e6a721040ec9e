// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// What goes on Airflow's word may be wanted again: a task that is cleared after
// Airflow was asked attaches, and would lose the sandbox. So the sandbox is taken
// first, by the lock that Airflow itself respects, as Terraform takes it before its
// destroys: in one write with the teardown mark, which lets the next run finish
// what a kill has left. Then Airflow is asked again, and the tags are read again a
// moment later, because nothing at a vendor compares before it writes. The claim
// of a task that is over is taken off before, as a stale one is: its retry would
// attach without a write.

// locks reports whether a destroy takes the sandbox from Airflow first.
func (p *place) locks(v verdict.Verdict) bool {
	if v.Act != verdict.Destroy || !v.Reason.NeedsAirflow() {
		return false
	}
	can := p.Backend.Capabilities()
	return can.Attachable && can.Tags == backend.TagsEditable
}

// lock is the claim of one destroy.
type lock struct {
	claim   string
	at      string // the teardown mark
	written bool   // either may stand in the tags
}

// destroyLocked destroys a sandbox that it has taken from Airflow, and gives it
// back where it does not come to that. The facts are those of the fresh read.
func (r *run) destroyLocked(ctx context.Context, p *place, v verdict.Verdict, facts verdict.Facts) (ActionResult, string) {
	if v.Claim.Holder != "" {
		if result, detail := r.release(ctx, p, v, facts); result != Released {
			return result, detail
		}
		p.released(v.Key)
	}
	l := &lock{claim: sandbox.NewClaim(), at: airflow.FormatExpiry(r.Clock.Now())}
	result, detail := r.take(ctx, p, v, facts, l)
	if result == "" {
		result, detail = r.destroy(ctx, p, facts.Subjects[0])
	}
	if result != Asked && result != Reclaimed && result != Vanished {
		r.giveBack(ctx, p, v, l)
	}
	return result, detail
}

// released forgets that a claim was being taken off: that was right.
func (p *place) released(key verdict.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	mark := p.marks[key]
	mark.Taken = time.Time{}
	p.marks[key] = mark
}

// take writes the lock and makes sure of it. A result says why nothing may be
// destroyed; empty: the sandbox is ours.
func (r *run) take(ctx context.Context, p *place, v verdict.Verdict, facts verdict.Facts, l *lock) (ActionResult, string) {
	switch spared, err := r.writeLock(ctx, p, v, facts, l); {
	case errors.Is(err, backend.ErrNotFound):
		return Vanished, ""
	case err != nil:
		return Failed, err.Error()
	case spared != "":
		return Spared, spared
	}
	if err := backend.Pause(ctx, r.Settle); err != nil {
		return Postponed, overStop
	}
	facts.Airflow.Answers = airflow.Answers{}
	facts.Subjects = []verdict.Subject{asHeld(facts.Subjects[0], v.Claim.Holder)}
	r.hear(ctx, p, &facts)
	if now := r.judge(&facts, p.Policy, 0); !agree(now, v) {
		return Spared, contradiction(now)
	}
	switch holder, err := r.holder(ctx, p, v.Ref); {
	case errors.Is(err, backend.ErrNotFound):
		return Vanished, ""
	case err != nil:
		return Failed, "read it again: " + err.Error()
	case holder != l.claim:
		return Spared, fmt.Sprintf("%q has taken it meanwhile", holder)
	}
	if why := r.overtaken(ctx); why != "" {
		return Postponed, why
	}
	return "", ""
}

// writeLock takes what is free, if the verdict on the very tags that are edited is
// still the same, and says why not otherwise.
func (r *run) writeLock(ctx context.Context, p *place, v verdict.Verdict, facts verdict.Facts, l *lock) (spared string, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.CallTimeout)
	defer cancel()
	box := *facts.Subjects[0].Sandbox
	err = backend.EditTags(ctx, p.Backend, v.Ref, func(tags sandbox.Tags) {
		holder := airflow.Holder(tags)
		box.Tags = tags.Clone()
		facts.Subjects = []verdict.Subject{asHeld(verdict.Subject{Sandbox: &box}, v.Claim.Holder)}
		switch now := r.judge(&facts, p.Policy, 0); {
		case holder != "" && holder != l.claim:
			spared = holder + " has it now"
			return
		case holder == "" && !agree(now, v):
			spared = contradiction(now)
			return
		}
		spared, l.written = "", true
		tags[airflow.TagHolder] = l.claim
		if _, marked := tags[sandbox.TagTeardownAt]; !marked {
			tags[sandbox.TagTeardownAt] = l.at
		}
	})
	return spared, err
}

// asHeld is the subject as it was judged before the claim on it was taken off.
func asHeld(s verdict.Subject, holder string) verdict.Subject {
	box := *s.Sandbox
	box.Tags = box.Tags.Clone()
	if box.Tags[airflow.TagHolder] = holder; holder == "" {
		delete(box.Tags, airflow.TagHolder)
	}
	return verdict.Subject{Sandbox: &box}
}

// giveBack takes the lock off, and the teardown mark that came with it: the
// sandbox is Airflow's again.
func (r *run) giveBack(ctx context.Context, p *place, v verdict.Verdict, l *lock) {
	if !l.written {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.CallTimeout)
	defer cancel()
	err := backend.EditTags(ctx, p.Backend, v.Ref, func(tags sandbox.Tags) {
		airflow.Release(tags, l.claim)
		if tags[sandbox.TagTeardownAt] == l.at {
			delete(tags, sandbox.TagTeardownAt)
		}
	})
	if err != nil && !errors.Is(err, backend.ErrNotFound) {
		r.Log.Warn("a sandbox was not given back to Airflow", "connection", p.Name, "handle", v.Handle, "holder", l.claim, "error", err)
	}
}
