// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func testLeftovers(t *testing.T, p *place) {
	keeper, ok := p.Backend.(backend.Leftovers)
	if !ok {
		t.Skip("nothing outlives a sandbox here")
	}
	t.Run("a live sandbox is no leftover", func(t *testing.T) {
		made := p.create(t, nil)
		for _, l := range p.listLeftovers(t) {
			if l.Handle == made.Handle && !l.InUse {
				t.Errorf("%s is listed as %+v", made.Handle, l)
			}
		}
	})
	t.Run("a destroyed sandbox leaves none", func(t *testing.T) {
		before := p.leftovers(t)
		p.gone(t, p.create(t, nil).Ref)
		p.wantNoNewLeftovers(t, before)
	})
	t.Run("a leftover is removed once it proves to be the same", func(t *testing.T) {
		if p.Leave == nil {
			t.Skip("Factory.Leave is not set")
		}
		before := p.leftovers(t)
		p.Leave(t)
		left := p.newLeftovers(t, before)
		if len(left) == 0 {
			t.Fatal("what was left behind is not listed")
		}
		for _, l := range left {
			other := l
			other.Incarnation += "0"
			wantError(t, "Remove of another incarnation", keeper.Remove(t.Context(), other), backend.ErrConflict)
			if len(p.newLeftovers(t, before)) == 0 {
				t.Fatal("it was removed although it is another one")
			}
			if err := keeper.Remove(t.Context(), l); err != nil {
				t.Errorf("Remove: %v", err)
			}
			if err := keeper.Remove(t.Context(), l); err != nil {
				wantError(t, "Remove of what is gone", err, backend.ErrNotFound)
			}
		}
		p.wantNoNewLeftovers(t, before)
	})
}

// leftovers returns what is left behind now, by kind and path.
func (p *place) leftovers(t *testing.T) map[string]bool {
	t.Helper()
	seen := make(map[string]bool)
	for _, l := range p.listLeftovers(t) {
		seen[leftoverKey(l)] = true
	}
	return seen
}

func (p *place) newLeftovers(t *testing.T, before map[string]bool) []sandbox.Leftover {
	t.Helper()
	var left []sandbox.Leftover
	for _, l := range p.listLeftovers(t) {
		if !before[leftoverKey(l)] && !l.InUse {
			left = append(left, l)
		}
	}
	return left
}

// wantNoNewLeftovers allows what others are about to finish.
func (p *place) wantNoNewLeftovers(t *testing.T, before map[string]bool) {
	t.Helper()
	if !p.eventually(t, func() bool { return len(p.newLeftovers(t, before)) == 0 }) {
		t.Errorf("left behind: %+v", p.newLeftovers(t, before))
	}
}

func (p *place) listLeftovers(t *testing.T) []sandbox.Leftover {
	t.Helper()
	keeper, ok := p.Backend.(backend.Leftovers)
	if !ok {
		return nil
	}
	left, err := drain(keeper.Leftovers(t.Context()))
	if err != nil {
		t.Fatalf("Leftovers: %v", err)
	}
	return left
}

func leftoverKey(l sandbox.Leftover) string { return l.Kind + "\x00" + l.Path + "\x00" + l.Incarnation }
