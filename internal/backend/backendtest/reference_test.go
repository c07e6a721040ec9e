// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var _ interface {
	backend.Backend
	backend.Preparer
	backend.Renewer
	backend.NetworkEditor
	backend.ImageBuilder
	backend.Leftovers
	backend.ServerClock
} = (*reference)(nil)

// reference is a vendor package as it should be, over server; flaw makes it one
// as it should not.
type reference struct {
	server *server
	caller *backend.Caller
	name   string
	flaw   flaw
}

func (r *reference) Scope() string { return "reference " + r.name }

func (r *reference) Capabilities() backend.Capabilities {
	caps := backend.Capabilities{
		OpenNetwork: true, BlockNetwork: true, AllowHostnames: true,
		LifetimeMin: time.Minute, LifetimeMax: 24 * time.Hour, ServerEnds: true,
		Identity: true, Tags: backend.TagsEditable, DefaultWorkdir: sandbox.DefaultWorkdir,
		FindLag: findLag, WaitGoneTimeout: 500 * time.Millisecond,
	}
	if r.flaw == hidesLag {
		caps.FindLag = 0
	}
	return caps
}

func (r *reference) Refuse(spec sandbox.Spec) []backend.Refusal {
	var refusals []backend.Refusal
	refuse := func(asked bool, attribute, reason string) {
		if asked {
			refusals = append(refusals, backend.Refusal{Attribute: attribute, Reason: reason})
		}
	}
	caps := r.Capabilities()
	refuse(len(spec.Network.AllowEgressToCIDRs) > 0, "network_policy", "address ranges cannot be allowed")
	refuse(spec.Lifetime < caps.LifetimeMin, "lifetime", "the shortest is "+caps.LifetimeMin.String())
	refuse(spec.Lifetime > caps.LifetimeMax, "lifetime", "the longest is "+caps.LifetimeMax.String())
	refuse(spec.IdleTimeout != 0, "idle_timeout", "there is none")
	refuse(spec.GPU != "", "gpu", "there is none")
	refuse(spec.Region != "", "region", "there is one only")
	refuse(spec.Cloud != "", "cloud", "there is one only")
	return refusals
}

func (r *reference) Prepare(context.Context) error { return nil }

func (r *reference) Check(ctx context.Context) (backend.Status, error) {
	status := backend.Status{Identity: "account of " + r.name}
	switch r.flaw {
	case identityChanges:
		status.Identity = sandbox.NewMark()
	case sameIdentity:
		status.Identity = "an account"
	}
	return status, r.read(ctx, "check", func() error { return nil })
}

// Ahead is known at any time.
func (r *reference) Ahead() (time.Duration, bool) {
	if r.flaw == oldTime {
		return -time.Hour, true
	}
	return r.server.now().Sub(clock.System().Now()), true
}

// read is an idempotent call, write is none. Both hold the server's lock.
func (r *reference) read(ctx context.Context, verb string, do func() error) error {
	return r.call(ctx, backend.Call{Verb: verb, Idempotent: true}, do)
}

func (r *reference) call(ctx context.Context, call backend.Call, do func() error) error {
	err := r.caller.Do(ctx, call, func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		r.server.mu.Lock()
		defer r.server.mu.Unlock()
		return do()
	})
	if r.flaw == everyErrorIsGone && err != nil {
		return fmt.Errorf("%w: %w", backend.ErrNotFound, err)
	}
	return err
}

func (r *reference) List(ctx context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		for after := ""; ; {
			var page []sandbox.Sandbox
			err := r.caller.Do(ctx, backend.Call{Verb: "list", Idempotent: true}, func(ctx context.Context) error {
				page = r.server.page(after)
				return ctx.Err()
			})
			switch {
			case err != nil && r.flaw == listStopsEarly && after != "":
				return
			case err != nil:
				yield(sandbox.Sandbox{}, err)
				return
			case len(page) == 0:
				return
			}
			for _, s := range page {
				if !yield(s, nil) {
					return
				}
				if r.flaw == listRepeats && !yield(s, nil) {
					return
				}
			}
			after = page[len(page)-1].Handle
			if r.flaw == listIsOnePage {
				return
			}
		}
	}
}

func (r *reference) Get(ctx context.Context, ref sandbox.Ref) (found sandbox.Sandbox, err error) {
	err = r.read(ctx, "get", func() error {
		rec, err := r.server.at(ref)
		switch {
		case errors.Is(err, backend.ErrConflict) && r.flaw != ignoresIncarnation:
			return fmt.Errorf("%w: %v", backend.ErrNotFound, err)
		case errors.Is(err, backend.ErrConflict):
			rec = r.server.records[ref.Handle]
		case err != nil:
			return err
		}
		found = rec.view()
		return nil
	})
	return found, err
}

func (r *reference) Find(ctx context.Context, mark string) (found []sandbox.Sandbox, err error) {
	err = r.caller.Do(ctx, backend.Call{Verb: "find", Idempotent: true}, func(ctx context.Context) error {
		found = r.server.named(sandbox.Name(mark))
		if r.flaw == findsNothing {
			found = nil
		}
		return ctx.Err()
	})
	return found, err
}

func (r *reference) Create(ctx context.Context, req backend.Request) (made sandbox.Sandbox, err error) {
	if err := backend.Refused(r.Refuse(req.Spec)); err != nil && r.flaw != createsRefused {
		if r.flaw == refusalLeavesOne {
			_, _ = r.server.create(req)
		}
		return sandbox.Sandbox{}, err
	}
	if err := storable(req.Tags); err != nil && r.flaw != altersTags {
		return sandbox.Sandbox{}, err
	}
	if r.flaw == altersTags {
		req.Tags = cleaned(req.Tags)
	}
	if err := r.read(ctx, "image", func() error { return nil }); err != nil {
		return sandbox.Sandbox{}, err
	}
	call := backend.Call{Verb: "create", Idempotent: r.flaw == retriesCreate}
	err = r.caller.Do(ctx, call, func(ctx context.Context) error {
		if ctx.Err() != nil {
			time.AfterFunc(createGoesOn, func() { _, _ = r.server.create(req) })
			return ctx.Err()
		}
		made, err = r.server.create(req)
		return err
	})
	if err != nil {
		if r.flaw == hidesLostReply && errors.Is(err, backend.ErrUnknownOutcome) {
			err = errors.New("connection reset")
		}
		return sandbox.Sandbox{}, err
	}
	made, err = r.Get(ctx, made.Ref)
	if err != nil && r.flaw != hidesLostReply {
		err = fmt.Errorf("%w: %w", backend.ErrUnknownOutcome, err)
	}
	return made, err
}

// storable says what the server cannot store.
func storable(tags sandbox.Tags) error {
	for key, value := range tags {
		if !utf8.ValidString(key+value) || strings.ContainsRune(key+value, 0) || key == "" || len(value) > 5000 {
			return fmt.Errorf("tag %q: %w", key, backend.ErrInvalid)
		}
	}
	return nil
}

func cleaned(tags sandbox.Tags) sandbox.Tags {
	clean := make(sandbox.Tags)
	for key, value := range tags {
		clean[strings.ToValidUTF8(key, "?")] = strings.ToValidUTF8(value, "?")
	}
	return clean
}

func (r *reference) SetTags(ctx context.Context, ref sandbox.Ref, tags sandbox.Tags) error {
	if err := storable(tags); err != nil {
		return err
	}
	return r.read(ctx, "tag", func() error {
		rec, err := r.server.usable(ref)
		if err != nil {
			return err
		}
		switch r.flaw {
		case mergesTags:
			maps.Copy(rec.Tags, tags)
		case dropsForeignTags:
			rec.Tags = maps.Collect(func(yield func(string, string) bool) {
				for key, value := range tags {
					if sandbox.ReservedTag(key) && !yield(key, value) {
						return
					}
				}
			})
		default:
			rec.Tags = tags.Clone()
		}
		return nil
	})
}

// carelessEditor claims to edit in one step, and lets others come between.
type carelessEditor struct{ *reference }

func (e carelessEditor) EditTags(ctx context.Context, ref sandbox.Ref, edit func(sandbox.Tags)) error {
	s, err := e.Get(ctx, ref)
	if err != nil {
		return err
	}
	edit(s.Tags)
	time.Sleep(createGoesOn)
	return e.SetTags(ctx, ref, s.Tags)
}

func (r *reference) Destroy(ctx context.Context, ref sandbox.Ref) error {
	return r.read(ctx, "destroy", func() error {
		rec, err := r.server.at(ref)
		switch {
		case errors.Is(err, backend.ErrNotFound) && r.flaw != secondDestroyFails:
			return nil
		case err != nil:
			return err
		case r.flaw == neverDestroys:
			return nil
		case rec.asked.IsZero():
			rec.asked = r.server.now()
			if r.flaw != runsOn {
				close(rec.ended)
			}
		}
		return nil
	})
}
