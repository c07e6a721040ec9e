// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// How the server behaves, as remote vendors do.
const (
	pageSize      = 2
	claimsRunning = 30 * time.Millisecond // after a destroy
	stopping      = 30 * time.Millisecond // after that
	createGoesOn  = 50 * time.Millisecond // without the caller that gave up
	findLag       = 200 * time.Millisecond
)

// server is a vendor's side: pages, lifetimes of its own, ends that take a
// while, creates that go on when nobody waits for them any more.
type server struct {
	home string
	flaw flaw

	mu        sync.Mutex
	ahead     time.Duration
	made      int
	records   map[string]*record
	images    map[string]bool
	leftovers map[string]sandbox.Leftover
}

type record struct {
	sandbox.Sandbox

	spec    sandbox.Spec
	dir     string
	asked   time.Time     // when its end was asked for
	ended   chan struct{} // closed then
	blocked chan struct{} // closed when its network is
}

func newServer(t *testing.T) *server {
	return &server{
		home:      t.TempDir(),
		flaw:      flaw(os.Getenv(flawVariable)),
		records:   make(map[string]*record),
		images:    make(map[string]bool),
		leftovers: make(map[string]sandbox.Leftover),
	}
}

func (s *server) now() time.Time { return clock.System().Now().Add(s.ahead) }

func (s *server) advance(_ *testing.T, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

func (s *server) create(req backend.Request) (sandbox.Sandbox, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if req.Spec.Image != "" && !s.images[req.Spec.Image] {
		return sandbox.Sandbox{}, fmt.Errorf("%w: no image %q", backend.ErrInvalid, req.Spec.Image)
	}
	s.made++
	handle := fmt.Sprintf("sb-%03d", s.made)
	r := &record{spec: req.Spec, dir: filepath.Join(s.home, handle), ended: make(chan struct{}), blocked: make(chan struct{})}
	r.Sandbox = sandbox.Sandbox{
		Ref: sandbox.Ref{Handle: handle, Incarnation: rand.Text()}, Name: req.Name, State: sandbox.Running,
		Tags: req.Tags.Clone(), TagsKnown: true, CreatedAt: s.now(), ServerEnds: req.ExpiresAt, Attached: -1,
	}
	if err := makeWorkspace(r.dir); err != nil {
		return sandbox.Sandbox{}, err
	}
	s.records[handle] = r
	return r.view(), nil
}

// at returns the record, or why it cannot be used.
func (s *server) at(ref sandbox.Ref) (*record, error) {
	s.expire()
	r := s.records[ref.Handle]
	switch {
	case r == nil:
		return nil, fmt.Errorf("%w: no sandbox %q", backend.ErrNotFound, ref.Handle)
	case ref.Incarnation != "" && ref.Incarnation != r.Incarnation:
		return nil, fmt.Errorf("%w: %q lives as another sandbox", backend.ErrConflict, ref.Handle)
	}
	return r, nil
}

// usable is at for what has not been asked to end.
func (s *server) usable(ref sandbox.Ref) (*record, error) {
	r, err := s.at(ref)
	if err == nil && !r.asked.IsZero() {
		return nil, fmt.Errorf("%w: %q was terminated", backend.ErrNotFound, ref.Handle)
	}
	return r, err
}

// expire forgets what has ended.
func (s *server) expire() {
	now := s.now()
	maps.DeleteFunc(s.records, func(_ string, r *record) bool {
		over := !r.asked.IsZero() && now.After(r.asked.Add(claimsRunning+stopping))
		if !r.asked.IsZero() && now.After(r.asked.Add(claimsRunning)) {
			r.State = sandbox.Stopping
		}
		return over || now.After(r.ServerEnds) && s.flaw != neverEnds
	})
}

// page returns the sandboxes after handle, every other one without its tags.
func (s *server) page(after string) []sandbox.Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	var page []sandbox.Sandbox
	for _, handle := range slices.Sorted(maps.Keys(s.records)) {
		if handle <= after || len(page) == pageSize {
			continue
		}
		item := s.records[handle].view()
		if len(page)%2 == 1 {
			item.Tags, item.TagsKnown = nil, false
		}
		page = append(page, item)
	}
	return page
}

// named returns what was created under name.
func (s *server) named(name string) []sandbox.Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	var found []sandbox.Sandbox
	for _, r := range s.records {
		if r.Name == name {
			found = append(found, r.view())
		}
	}
	return found
}

func (r *record) view() sandbox.Sandbox {
	view := r.Sandbox
	view.Tags = r.Tags.Clone()
	return view
}

func (s *server) leave(*testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := sandbox.Leftover{Ref: sandbox.Ref{Handle: rand.Text(), Incarnation: rand.Text()}, Kind: "staging", CreatedAt: s.now()}
	l.Path = filepath.Join(s.home, l.Handle)
	s.leftovers[l.Handle] = l
}
