// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

// lab is one place in memory that does what it is told, unless a hook says
// otherwise.
type lab struct {
	backend.Backend // nil: the janitor calls nothing else

	scope string
	who   string // answers; empty: it does not say
	can   backend.Capabilities
	mu    sync.Mutex
	boxes map[sandbox.Ref]sandbox.Sandbox
	left  map[sandbox.Ref]sandbox.Leftover
	asked []string // handles, in the order in which they were asked to go

	written []sandbox.Tags // whole sets, in order

	onList    func(context.Context) error
	onTags    func(context.Context, sandbox.Ref) error
	onGet     func(context.Context, sandbox.Ref) error
	onDestroy func(context.Context, sandbox.Ref) error
}

func newLab(boxes ...sandbox.Sandbox) *lab {
	l := &lab{scope: "lab:1", boxes: make(map[sandbox.Ref]sandbox.Sandbox), left: make(map[sandbox.Ref]sandbox.Leftover)}
	for _, box := range boxes {
		l.boxes[box.Ref] = box
	}
	return l
}

// ending is a sandbox that Terraform made two days ago and that ends at end.
func ending(handle string, end time.Time) sandbox.Sandbox {
	return sandbox.Sandbox{
		Ref:       sandbox.Ref{Handle: handle, Incarnation: "1"},
		State:     sandbox.Running,
		CreatedAt: noon.Add(-48 * time.Hour),
		TagsKnown: true,
		Tags: sandbox.Tags{
			sandbox.TagManagedBy: sandbox.ManagedByTerraform,
			airflow.TagExpiresAt: airflow.FormatExpiry(end),
		},
	}
}

func dead(handle string) sandbox.Sandbox  { return ending(handle, noon.Add(-time.Hour)) }
func alive(handle string) sandbox.Sandbox { return ending(handle, noon.Add(100*time.Hour)) }

func (l *lab) leave(handles ...string) {
	for _, handle := range handles {
		ref := sandbox.Ref{Handle: handle, Incarnation: "1"}
		l.left[ref] = sandbox.Leftover{
			Ref: ref, Kind: "trash", Path: "/lab/" + handle,
			CreatedAt: noon.Add(-48 * time.Hour), ChangedAt: noon.Add(-48 * time.Hour),
		}
	}
}

func (l *lab) Scope() string { return l.scope }
func (l *lab) Capabilities() backend.Capabilities {
	can := l.can
	can.Identity = l.who != ""
	return can
}

func (l *lab) Check(context.Context) (backend.Status, error) {
	return backend.Status{Identity: l.who}, nil
}

func (l *lab) List(ctx context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		if l.onList != nil {
			if err := l.onList(ctx); err != nil {
				yield(sandbox.Sandbox{}, err)
				return
			}
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, ref := range refs(l.boxes) {
			if !yield(l.boxes[ref], nil) {
				return
			}
		}
	}
}

func (l *lab) Get(ctx context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	if l.onGet != nil {
		if err := l.onGet(ctx, ref); err != nil {
			return sandbox.Sandbox{}, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for known, box := range l.boxes {
		if known == ref || ref.Incarnation == "" && known.Handle == ref.Handle {
			return box, nil
		}
	}
	return sandbox.Sandbox{}, fmt.Errorf("get sandbox %s: %w", ref.Handle, backend.ErrNotFound)
}

func (l *lab) SetTags(ctx context.Context, ref sandbox.Ref, tags sandbox.Tags) error {
	l.mu.Lock()
	box, there := l.boxes[ref]
	if !there {
		l.mu.Unlock()
		return backend.ErrNotFound
	}
	box.Tags = tags.Clone()
	l.boxes[ref] = box
	l.written = append(l.written, tags.Clone())
	l.mu.Unlock()
	if l.onTags != nil {
		return l.onTags(ctx, ref)
	}
	return nil
}

// tag sets a tag of the sandbox named box, or takes it off, as another program does.
func (l *lab) tag(key, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ref, box := range l.boxes {
		if ref.Handle == "box" {
			box.Tags = box.Tags.Clone()
			if box.Tags[key] = value; value == "" {
				delete(box.Tags, key)
			}
			l.boxes[ref] = box
		}
	}
}

func (l *lab) Destroy(ctx context.Context, ref sandbox.Ref) error {
	l.mu.Lock()
	l.asked = append(l.asked, ref.Handle)
	l.mu.Unlock()
	if l.onDestroy != nil {
		if err := l.onDestroy(ctx, ref); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.boxes, ref)
	return nil
}

func (l *lab) Leftovers(context.Context) iter.Seq2[sandbox.Leftover, error] {
	return func(yield func(sandbox.Leftover, error) bool) {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, ref := range refs(l.left) {
			if !yield(l.left[ref], nil) {
				return
			}
		}
	}
}

func (l *lab) Remove(_ context.Context, left sandbox.Leftover) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, left.Handle)
	delete(l.left, left.Ref)
	return nil
}

func (l *lab) handles() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for ref := range maps.Keys(l.boxes) {
			if !yield(ref.Handle) {
				return
			}
		}
	})
}

// enforcing are options for labs named a, b and so on, at noon. Items go one
// after the other, so that what happens between them is told.
func enforcing(labs ...*lab) Options {
	opts := Options{Store: NewMemory(), Clock: clock.NewFake(noon), Process: "me", Host: "here", PerConnection: 1}
	for i, l := range labs {
		name := string(rune('a' + i))
		if i > 0 {
			l.scope = "lab:" + name
		}
		opts.Connections = append(opts.Connections, Connection{Name: name, Backend: l, Policy: verdict.Policy{
			Connection: name, Mode: verdict.Enforce,
			Modes: map[verdict.Reason]verdict.Mode{"orphaned_workspace": verdict.Enforce},
		}})
	}
	return opts
}

func (o Options) advance(d time.Duration) { o.Clock.(*clock.Fake).Advance(d) }

func sweep(t *testing.T, opts Options) Result {
	t.Helper()
	result, err := Sweep(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// said are the actions of a run as "handle result".
func said(result Result) []string {
	var all []string
	for _, c := range result.Connections {
		for _, a := range c.Actions {
			all = append(all, a.Handle+" "+string(a.Result))
		}
	}
	return all
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}
