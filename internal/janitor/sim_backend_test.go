// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// simBackend is one place in one view.
type simBackend struct {
	backend.Backend // nil: the janitor calls nothing else

	v     *view
	s     *site
	ahead time.Duration
	known bool
}

// hostBackend is a place on the janitor's own host.
type hostBackend struct{ *simBackend }

// remoteBackend is a place with a clock of its own.
type remoteBackend struct{ *simBackend }

func (v *view) backend(s *site) backend.Backend {
	b := &simBackend{v: v, s: s}
	if s.remote {
		return remoteBackend{b}
	}
	return hostBackend{b}
}

func (b remoteBackend) Ahead() (time.Duration, bool) { return b.ahead, b.known }

func (b *simBackend) Scope() string { return "sim:" + b.s.name }

func (b *simBackend) Capabilities() backend.Capabilities {
	return backend.Capabilities{
		ServerEnds: b.s.remote, Identity: b.s.remote && !b.v.cfg.nameless,
		Attachable: !b.v.cfg.unlocked, Tags: backend.TagsEditable,
	}
}

// do is one call whose reply, when it arrives, tells the server's time.
func (b *simBackend) do(ctx context.Context, longest time.Duration, effect func() error) error {
	err := b.v.call(ctx, longest, effect)
	if !errors.Is(err, errKilled) && !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrUnknownOutcome) {
		b.ahead, b.known = -b.v.skew, true
	}
	return err
}

func (b *simBackend) List(ctx context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		var boxes []sandbox.Sandbox
		err := b.do(ctx, DefaultListTimeout/2, func() error {
			boxes = b.v.listBoxes(b.s)
			return nil
		})
		cut := len(boxes)
		if err == nil && !b.v.calm && b.v.chance(0.04) {
			cut, err = b.v.IntN(len(boxes)+1), fmt.Errorf("%w: the next page", backend.ErrUnavailable)
		}
		b.v.witnessEnd(b.s, "sandboxes", err)
		for _, box := range boxes[:cut] {
			box, there := b.withTags(ctx, box)
			if !there {
				continue
			}
			if b.v.ended[b.s.name+"sandboxes"] == 1 {
				b.v.listed[b.s.name][box.Ref] = box
				b.v.yielded[b.s.name]++
			}
			if !yield(box, nil) {
				return
			}
		}
		if err != nil {
			yield(sandbox.Sandbox{}, err)
		}
	}
}

// withTags reads singly what the reply to a list did not tell. What is gone by
// then is not there.
func (b *simBackend) withTags(ctx context.Context, told sandbox.Sandbox) (_ sandbox.Sandbox, there bool) {
	if told.TagsKnown {
		return told, true
	}
	there = true
	_ = b.do(ctx, DefaultCallTimeout/2, func() error {
		var found *box
		if found, there = b.s.boxes[told.Ref]; there && !found.untold {
			told.Tags, told.TagsKnown = found.Tags.Clone(), true
		}
		return nil
	})
	return told, there
}

// longestLag is how far back a listing may show.
const longestLag = 20 * time.Hour

// listBoxes is what a listing shows: the truth, the past, or nothing at all.
func (v *view) listBoxes(s *site) []sandbox.Sandbox {
	v.witnessList(s)
	switch {
	case s.signedOut:
		return nil
	case s.stranger:
		return v.strange()
	}
	if fresh := v.now.Sub(s.pastAt) < longestLag; s.remote && !v.calm && fresh && v.chance(v.cfg.lags) {
		return s.past
	}
	boxes := make([]sandbox.Sandbox, 0, len(s.boxes))
	for _, ref := range refs(s.boxes) {
		b := s.boxes[ref]
		boxes = append(boxes, b.reply(b.bare))
	}
	if v.chance(0.2) {
		s.past, s.pastAt = boxes, v.now
	}
	if s.remote && len(boxes) > 0 && !v.calm && v.chance(0.1) { // a page that shifted
		boxes = append(boxes, boxes[v.IntN(len(boxes))])
	}
	return boxes
}

// reply is what the backend tells of a sandbox.
func (b *box) reply(bare bool) sandbox.Sandbox {
	told := b.Sandbox
	told.Tags = b.Tags.Clone()
	if b.untold || bare {
		told.Tags, told.TagsKnown = nil, false
	}
	return told
}

func (b *simBackend) Get(ctx context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	var found *box
	var truth witness
	absent := false
	err := b.do(ctx, DefaultCallTimeout/2, func() error {
		found = b.s.boxes[ref]
		absent = found == nil
		for _, other := range b.v.strange() {
			if b.s.stranger && other.Ref == ref {
				truth = witness{box: other}
				return nil
			}
		}
		switch {
		case b.s.signedOut:
			return backend.ErrUnauthorized
		case absent || b.s.stranger:
			return fmt.Errorf("%s: %w", ref.Handle, backend.ErrNotFound)
		}
		truth = b.v.witnessBox(b.s, found)
		b.v.focus = found
		if holder, pretended := b.v.pretended[ref]; pretended {
			truth.box.Tags[airflow.TagHolder] = holder
		}
		return nil
	})
	key := seen{b.s.name, verdict.Key{Ref: ref}}
	if listed, ok := b.v.listed[b.s.name][ref]; b.v.cfg.staleGet && ok && err == nil {
		b.v.reads[key] = truth
		return listed, nil
	}
	if _, ok := b.v.listed[b.s.name][ref]; b.v.cfg.absentGet && !ok {
		return sandbox.Sandbox{}, backend.ErrNotFound
	}
	switch {
	case errors.Is(err, backend.ErrNotFound):
		b.v.gone[key] = absent
	case err == nil:
		b.v.reads[key] = truth
		return truth.box, nil
	}
	return sandbox.Sandbox{}, err
}

func (b *simBackend) Destroy(ctx context.Context, ref sandbox.Ref) error {
	return b.do(ctx, DefaultCallTimeout/2, func() error {
		if b.s.stranger {
			b.v.harm(19, "%s is asked in an account that nobody has accepted", ref.Handle)
			return nil
		}
		b.v.checkAsk(b.s, verdict.Key{Ref: ref})
		found := b.s.boxes[ref]
		switch {
		case found == nil:
			return nil
		case found.stubborn:
			return errors.New("permission denied")
		case found.slow > 10*time.Minute:
			found.goneAt = b.v.now.Add(found.slow - 10*time.Minute)
			if !found.bare { // else it seems to run on
				found.State, found.StateSince = sandbox.Stopping, b.v.now
			}
		default:
			delete(b.s.boxes, ref)
		}
		return nil
	})
}

func (b hostBackend) Leftovers(ctx context.Context) iter.Seq2[sandbox.Leftover, error] {
	return func(yield func(sandbox.Leftover, error) bool) {
		var left []sandbox.Leftover
		err := b.do(ctx, DefaultListTimeout/2, func() error {
			for _, ref := range refs(b.s.left) {
				left = append(left, *b.s.left[ref])
			}
			return nil
		})
		b.v.witnessLeft(b.s, left, err == nil)
		cut := len(left)
		if err == nil && !b.v.calm && b.v.chance(0.04) {
			cut, err = b.v.IntN(len(left)+1), errors.New("input/output error")
		}
		b.v.witnessEnd(b.s, "leftovers", err)
		for _, l := range left[:cut] {
			if !yield(l, nil) {
				return
			}
		}
		if err != nil {
			yield(sandbox.Leftover{}, err)
		}
	}
}

// Remove checks the identity but, unlike a good backend, not the use: the
// janitor's own rails are on trial.
func (b hostBackend) Remove(ctx context.Context, l sandbox.Leftover) error {
	return b.do(ctx, DefaultCallTimeout/2, func() error {
		b.v.checkAsk(b.s, verdict.Key{Ref: l.Ref, Leftover: true})
		if _, ok := b.s.left[l.Ref]; !ok {
			return backend.ErrConflict
		}
		delete(b.s.left, l.Ref)
		return nil
	})
}
