// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// fleet is how many sandboxes the listing is tested with.
const fleet = 5

func testListing(t *testing.T, p *place) {
	made := make(map[sandbox.Ref]bool)
	for range fleet {
		made[p.create(t, nil).Ref] = true
	}

	t.Run("every sandbox is listed once", func(t *testing.T) {
		if !p.eventually(t, func() bool { return len(missing(p.list(t), made)) == 0 }) {
			t.Errorf("a complete listing does not show %v", missing(p.list(t), made))
		}
		for ref, times := range p.list(t) {
			if times != 1 {
				t.Errorf("%s is listed %d times", ref.Handle, times)
			}
		}
	})
	t.Run("a listing can be broken off", func(t *testing.T) {
		for _, err := range p.List(t.Context()) {
			if err != nil {
				t.Errorf("List: %v", err)
			}
			break
		}
	})
	t.Run("a listing that a call breaks ends in an error", func(t *testing.T) { testBrokenListing(t, p) })
	t.Run("a listing given up ends in an error", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := drain(p.List(ctx)); err == nil {
			t.Error("a listing under a cancelled context claims to be complete")
		}
	})
	t.Run("a destroyed sandbox leaves the listing", func(t *testing.T) {
		doomed := p.create(t, nil).Ref
		p.gone(t, doomed)
		if !p.eventually(t, func() bool {
			s, ok := p.listed(t, doomed)
			return !ok || s.State == sandbox.Ended || s.State == sandbox.Stopping
		}) {
			t.Errorf("%s is gone, but listed as alive", doomed.Handle)
		}
	})
}

// testBrokenListing breaks the connection for good at each call of a listing.
func testBrokenListing(t *testing.T, p *place) {
	p = open(t, p.Factory, func(c *backend.Caller) { c.MaxRetries = -1 })
	for n := range mostCalls {
		broke := false
		calls := 0
		p.faults.set(func(ctx context.Context, _ backend.Call, do attempt) error {
			if calls++; calls <= n {
				return do(ctx)
			}
			broke = true
			return backend.ErrUnavailable
		})
		_, err := drain(p.List(t.Context()))
		p.faults.set(nil)
		if !broke {
			if n == 0 {
				t.Error("no call went through the Caller")
			}
			return
		}
		wantError(t, "a listing broken at a call", err, backend.ErrUnavailable)
	}
	t.Errorf("more than %d calls for one listing", mostCalls)
}

// list counts what a complete listing shows.
func (p *place) list(t *testing.T) map[sandbox.Ref]int {
	t.Helper()
	listed, err := drain(p.List(t.Context()))
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	times := make(map[sandbox.Ref]int)
	for _, s := range listed {
		times[s.Ref]++
	}
	return times
}

// listed returns what a complete listing shows of ref.
func (p *place) listed(t *testing.T, ref sandbox.Ref) (sandbox.Sandbox, bool) {
	t.Helper()
	listed, err := drain(p.List(t.Context()))
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	for _, s := range listed {
		if s.Ref == ref {
			return s, true
		}
	}
	return sandbox.Sandbox{}, false
}

// drain collects a listing. An error that is not the last thing is an error too.
func drain[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	var failed error
	for item, err := range seq {
		if failed != nil {
			return all, fmt.Errorf("the listing went on after its error: %v", failed)
		}
		if failed = err; err == nil {
			all = append(all, item)
		}
	}
	return all, failed
}

func missing(listed map[sandbox.Ref]int, wanted map[sandbox.Ref]bool) []sandbox.Ref {
	var refs []sandbox.Ref
	for ref := range wanted {
		if listed[ref] == 0 {
			refs = append(refs, ref)
		}
	}
	return refs
}
