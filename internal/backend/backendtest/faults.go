// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"context"
	"sync"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// mostCalls bounds the calls of one operation that are broken one by one.
const mostCalls = 64

// attempt is one attempt of a call, as a Caller makes it.
type attempt = func(context.Context) error

// fault is what happens to one attempt.
type fault func(ctx context.Context, call backend.Call, do attempt) error

// faults stands around every attempt of a backend's Caller.
type faults struct {
	mu   sync.Mutex
	next fault // nil: none
}

func (f *faults) intercept(ctx context.Context, call backend.Call, do func(context.Context) error) error {
	f.mu.Lock()
	next := f.next
	f.mu.Unlock()
	if next == nil {
		return do(ctx)
	}
	return next(ctx, call, do)
}

func (f *faults) set(next fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = next
}

// at lets broken happen to attempt number n, counted from 0, of what test does,
// and reports whether there was such an attempt.
func (f *faults) at(n int, broken fault, test func()) (happened bool) {
	var mu sync.Mutex
	made := 0
	f.set(func(ctx context.Context, call backend.Call, do attempt) error {
		mu.Lock()
		now := made == n
		made++
		mu.Unlock()
		if now {
			return broken(ctx, call, do)
		}
		return do(ctx)
	})
	defer f.set(nil)
	test()
	mu.Lock()
	defer mu.Unlock()
	return made > n
}

// everyCall runs test once for every call that the part of it within broken
// makes, with loss at that call.
func (p *place) everyCall(t *testing.T, test func(broken func(part func())), loss fault) {
	t.Helper()
	for n := range mostCalls {
		happened := false
		test(func(part func()) { happened = p.faults.at(n, loss, part) })
		if !happened {
			if n == 0 {
				t.Error("no call went through the Caller")
			}
			return
		}
	}
	t.Errorf("more than %d calls for one operation", mostCalls)
}

// lostReply is what a vendor package reports when the connection broke.
func lostReply(call backend.Call) error {
	if call.Idempotent {
		return backend.ErrUnavailable
	}
	return backend.ErrUnknownOutcome
}

// The two ways to lose a call.
var losses = map[string]fault{
	"before its effect": func(_ context.Context, call backend.Call, _ attempt) error {
		return lostReply(call)
	},
	"after its effect": func(ctx context.Context, call backend.Call, do attempt) error {
		if err := do(ctx); err != nil {
			return err
		}
		return lostReply(call)
	},
}
