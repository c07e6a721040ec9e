// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Snapshot answers many reads from one complete listing. It lives as long as
// one refresh. It is safe for concurrent use.
type Snapshot struct {
	backend Backend
	turn    chan struct{} // held by the one reader that lists

	mu     sync.Mutex
	listed map[string]sandbox.Sandbox   // by handle; nil until a listing is complete
	next   map[string][]sandbox.Sandbox // by the handle that they replace
	stale  map[string]bool              // handles written since
	broken error                        // what no further read would get past
}

// NewSnapshot returns a snapshot of b that has seen nothing yet.
func NewSnapshot(b Backend) *Snapshot {
	return &Snapshot{backend: b, turn: make(chan struct{}, 1), stale: make(map[string]bool)}
}

// Get reads the sandbox as Backend.Get does. The first reader lists, the others
// wait for that listing. What it does not show, or not wholly, and what was
// forgotten is read by id. ErrUnauthorized and ErrUnavailable are remembered, so
// that a thousand readers do not each run into the same deadline; any other
// error is only this reader's.
func (s *Snapshot) Get(ctx context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	if s.needsListing(ref) {
		if err := s.list(ctx); err != nil {
			return sandbox.Sandbox{}, err
		}
	}
	if found, ok, err := s.lookUp(ref); ok || err != nil {
		return found, err
	}
	found, err := s.backend.Get(ctx, ref)
	return found, s.remember(ctx, err)
}

// All returns every sandbox of the scope, by handle, as List yields them: from
// the one listing, with what was forgotten since read by id.
func (s *Snapshot) All(ctx context.Context) ([]sandbox.Sandbox, error) {
	if s.needsListing(sandbox.Ref{}) {
		if err := s.list(ctx); err != nil {
			return nil, err
		}
	}
	all, stale, err := s.parts()
	if err != nil {
		return nil, err
	}
	for _, handle := range stale {
		found, err := s.backend.Get(ctx, sandbox.Ref{Handle: handle})
		switch {
		case errors.Is(err, ErrNotFound):
		case err != nil:
			return nil, s.remember(ctx, err)
		default:
			all = append(all, found)
		}
	}
	slices.SortFunc(all, func(a, b sandbox.Sandbox) int { return strings.Compare(a.Handle, b.Handle) })
	return all, nil
}

// Replacing returns what the listing, if there was one, shows of the sandboxes
// that were made to take the place of handle.
func (s *Snapshot) Replacing(handle string) []sandbox.Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next[handle]
}

// parts returns what the listing still tells, and what must be read by id.
func (s *Snapshot) parts() (current []sandbox.Sandbox, stale []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for handle, found := range s.listed {
		if !s.stale[handle] {
			current = append(current, found)
		}
	}
	return current, slices.Collect(maps.Keys(s.stale)), s.broken
}

// Forget makes every later read of ref a read by id, also when a listing is
// under way. It is called after a write.
func (s *Snapshot) Forget(ref sandbox.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale[ref.Handle] = true
}

func (s *Snapshot) needsListing(ref sandbox.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broken == nil && s.listed == nil && !s.stale[ref.Handle]
}

// lookUp answers from the listing where that is as good as a read by id.
func (s *Snapshot) lookUp(ref sandbox.Ref) (found sandbox.Sandbox, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil || s.stale[ref.Handle] {
		return sandbox.Sandbox{}, false, s.broken
	}
	found, ok = s.listed[ref.Handle]
	ok = ok && (ref.Incarnation == "" || ref.Incarnation == found.Incarnation)
	return found, ok && found.TagsKnown && found.Problem == "", nil
}

// list lists unless another reader has done so meanwhile. A reader that gives
// up passes the turn on.
func (s *Snapshot) list(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if !s.needsListing(sandbox.Ref{}) {
		return nil
	}
	listed, next := make(map[string]sandbox.Sandbox), make(map[string][]sandbox.Sandbox)
	for found, err := range s.backend.List(ctx) {
		if err != nil {
			return s.remember(ctx, fmt.Errorf("list the sandboxes of %q: %w", s.backend.Scope(), err))
		}
		listed[found.Handle] = found
		if replaced := found.Tags[sandbox.TagReplaces]; replaced != "" {
			next[replaced] = append(next[replaced], found)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed, s.next = listed, next
	return nil
}

// remember keeps err where every other reader would get it too, and returns it.
func (s *Snapshot) remember(ctx context.Context, err error) error {
	if errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrUnavailable) && ctx.Err() != context.Canceled {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.broken = err
	}
	return err
}
