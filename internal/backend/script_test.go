// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend_test

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// scripted is a backend that answers as a test writes it, one function for each
// method that is called.
type scripted struct {
	backend.Backend // panics where a test expects no call

	caps     backend.Capabilities
	refusals []backend.Refusal

	list    func(context.Context) ([]sandbox.Sandbox, error)
	get     func(sandbox.Ref) (sandbox.Sandbox, error)
	find    func(context.Context) ([]sandbox.Sandbox, error)
	create  func(context.Context, backend.Request) (sandbox.Sandbox, error)
	setTags func(sandbox.Tags) error
	destroy func(sandbox.Ref) error

	mu    sync.Mutex
	calls []string
}

func (s *scripted) note(call string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

// count returns how often call was made.
func (s *scripted) count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.calls), func(c string) bool { return c != call }))
}

func (s *scripted) Scope() string                         { return "scripted" }
func (s *scripted) Capabilities() backend.Capabilities    { return s.caps }
func (s *scripted) Refuse(sandbox.Spec) []backend.Refusal { return s.refusals }
func (s *scripted) SetTags(_ context.Context, _ sandbox.Ref, tags sandbox.Tags) error {
	s.note("set tags")
	return s.setTags(tags)
}

func (s *scripted) Get(_ context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	s.note("get")
	return s.get(ref)
}

func (s *scripted) Find(ctx context.Context, _ string) ([]sandbox.Sandbox, error) {
	s.note("find")
	return s.find(ctx)
}

func (s *scripted) Create(ctx context.Context, req backend.Request) (sandbox.Sandbox, error) {
	s.note("create")
	return s.create(ctx, req)
}

func (s *scripted) Destroy(_ context.Context, ref sandbox.Ref) error {
	s.note("destroy " + ref.Handle)
	return s.destroy(ref)
}

func (s *scripted) List(ctx context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		s.note("list")
		all, err := s.list(ctx)
		for _, one := range all {
			if !yield(one, nil) {
				return
			}
		}
		if err != nil {
			yield(sandbox.Sandbox{}, err)
		}
	}
}

// running is a sandbox in good health, made age ago.
func running(handle string, created time.Time) sandbox.Sandbox {
	return sandbox.Sandbox{Ref: sandbox.Ref{Handle: handle}, State: sandbox.Running, TagsKnown: true, Tags: sandbox.Tags{}, CreatedAt: created}
}
