// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// recoverWithin bounds how long Create looks for what an unanswered call made,
// on top of the backend's FindLag.
const recoverWithin = time.Minute

// NewRequest returns the request of one create attempt: a fresh mark, the name
// that carries it, and tags with the mark among them. The expiry is cut to whole
// seconds, as the tags count them.
func NewRequest(spec sandbox.Spec, tags sandbox.Tags, now time.Time) Request {
	mark := sandbox.NewMark()
	tags = tags.Clone()
	tags[sandbox.TagAttempt] = mark
	return Request{
		Name:      sandbox.Name(mark),
		Mark:      mark,
		Spec:      spec,
		Tags:      tags,
		ExpiresAt: now.Add(spec.Lifetime).Truncate(time.Second),
	}
}

// Create makes one sandbox or nothing. A spec that the backend refuses is
// ErrUnenforceable before any call. When the outcome of the one create call is
// not known, or ctx ended during it, what carries the mark is looked up: it is
// adopted, or destroyed where ctx has ended, and duplicates are destroyed. That
// goes on after ctx, for a bounded time. ErrUnknownOutcome is left only when the
// look-up itself failed; the error then names the mark.
func Create(ctx context.Context, b Backend, req Request) (sandbox.Sandbox, error) {
	if err := Refused(b.Refuse(req.Spec)); err != nil {
		return sandbox.Sandbox{}, fmt.Errorf("create sandbox on %q: %w", b.Scope(), err)
	}
	if err := context.Cause(ctx); err != nil {
		return sandbox.Sandbox{}, err
	}
	made, err := b.Create(ctx, req)
	if err == nil {
		return made, nil
	}
	settleDeadline(ctx)
	switch {
	case definite(err), ctx.Err() == nil && !unclear(err):
		return sandbox.Sandbox{}, err
	}
	return recovery{b, req, err}.run(ctx)
}

// settleDeadline waits until ctx has ended where its deadline has passed: a server
// that was told of it may give the call up a moment before our own timer fires.
func settleDeadline(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok && !clock.System().Now().Before(deadline) {
		<-ctx.Done()
	}
}

// definite reports that nothing was made, whatever happened to the context.
func definite(err error) bool {
	return errors.Is(err, ErrUnenforceable) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrUnauthorized)
}

// unclear reports that something may have been made. A conflict is one of them:
// a vendor's own retry after a lost reply finds the name taken by itself.
func unclear(err error) bool {
	return errors.Is(err, ErrUnknownOutcome) || errors.Is(err, ErrConflict)
}

// recovery finds out what an unanswered create call made.
type recovery struct {
	backend Backend
	req     Request
	lost    error // of the create call
}

// run looks until the outcome is settled. ctx only decides between adopting and
// destroying.
func (r recovery) run(ctx context.Context) (sandbox.Sandbox, error) {
	lag := r.backend.Capabilities().FindLag
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), lag+recoverWithin)
	defer cancel()
	lagging, stop := context.WithTimeout(looking, lag)
	defer stop()

	for waits := pollWaits(); ; {
		settled := lagging.Err() != nil // what a look begun now does not show was not made
		kept, err := r.look(ctx, looking)
		switch {
		case err != nil && !errors.Is(err, ErrUnavailable):
			return sandbox.Sandbox{}, r.unresolved(err)
		case err == nil && kept != nil && kept.State != sandbox.Starting:
			return *kept, nil
		case err == nil && kept == nil && settled:
			return sandbox.Sandbox{}, r.nothing(ctx)
		}
		if pause(looking, waits) != nil {
			return sandbox.Sandbox{}, r.unresolved(cmp.Or(err, errors.New("it is still starting")))
		}
	}
}

// look returns the one sandbox to keep, if any, and destroys every other one.
func (r recovery) look(ctx, looking context.Context) (*sandbox.Sandbox, error) {
	found, err := r.backend.Find(looking, r.req.Mark)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b sandbox.Sandbox) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Handle, b.Handle))
	})
	var kept *sandbox.Sandbox
	for i, s := range found {
		switch {
		case s.State == sandbox.Stopping || s.State == sandbox.Ended:
		case s.State != sandbox.Failed && kept == nil && ctx.Err() == nil:
			kept = &found[i]
		default:
			if err := r.backend.Destroy(looking, s.Ref); err != nil {
				return nil, fmt.Errorf("destroy %s: %w", s.Handle, err)
			}
		}
	}
	return kept, nil
}

// nothing is the error of a create call that is known to have left nothing.
func (r recovery) nothing(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("create sandbox %s: %w; nothing is left of it", r.req.Name, context.Cause(ctx))
	case errors.Is(r.lost, ErrUnknownOutcome):
		return fmt.Errorf("create sandbox %s: %w: the call went unanswered and left nothing, so it is safe to try again: %v",
			r.req.Name, ErrUnavailable, r.lost)
	default:
		return r.lost
	}
}

// unresolved says where to look for what may have been left.
func (r recovery) unresolved(err error) error {
	return fmt.Errorf("create sandbox %s: %w: a sandbox may exist under that name with the tag %s=%s: %w (create: %v)",
		r.req.Name, ErrUnknownOutcome, sandbox.TagAttempt, r.req.Mark, err, r.lost)
}
