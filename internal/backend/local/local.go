// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/statedir"
)

// host is a state directory as a backend.
type host struct {
	dir    string
	caller *backend.Caller
	clock  clock.Clock

	newEngine func() (*engine.Engine, error)
	mu        sync.Mutex
	engine    *engine.Engine // nil until it has proved to isolate
}

var (
	_ backend.Backend       = (*host)(nil)
	_ backend.Preparer      = (*host)(nil)
	_ backend.TagEditor     = (*host)(nil)
	_ backend.Renewer       = (*host)(nil)
	_ backend.NetworkEditor = (*host)(nil)
	_ backend.ImageBuilder  = (*host)(nil)
	_ backend.Leftovers     = (*host)(nil)
)

func open(conn backend.Connection, _ backend.Credentials, caller *backend.Caller) (backend.Backend, error) {
	dir := conn.Path
	if dir == "" {
		var err error
		if dir, err = statedir.Default("sandbox"); err != nil {
			return nil, fmt.Errorf("%w: local: %w; write local:///absolute/dir", backend.ErrInvalid, err)
		}
	}
	return newHost(dir, caller, clock.System()), nil
}

func newHost(dir string, caller *backend.Caller, clk clock.Clock) *host {
	return &host{dir: dir, caller: caller, clock: clk, newEngine: engine.New}
}

// Scope names the state directory.
func (h *host) Scope() string {
	return backend.Connection{Scheme: "local", Path: h.dir}.Location()
}

// Check opens the state directory.
func (h *host) Check(ctx context.Context) (backend.Status, error) {
	var status backend.Status
	err := h.do(ctx, read("check"), func(_ context.Context, st *state) error {
		status.Identity = st.instance.ID
		return nil
	})
	if err != nil {
		return backend.Status{}, h.failed("check", "", err)
	}
	return status, nil
}

// isolation returns the engine once one command has really been isolated by it.
func (h *host) isolation(ctx context.Context) (*engine.Engine, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.engine != nil {
		return h.engine, nil
	}
	e, err := h.newEngine()
	if err == nil {
		err = e.Preflight(ctx)
	}
	if err != nil {
		return nil, classified(err)
	}
	h.engine = e
	return e, nil
}

// read and write describe the calls of this package. A read may be repeated.
func read(verb string) backend.Call  { return backend.Call{Verb: verb, Idempotent: true} }
func write(verb string) backend.Call { return backend.Call{Verb: verb} }

// do makes one call on the state directory. A directory that cannot be opened
// is an error before the call: trying again would not make it appear.
func (h *host) do(ctx context.Context, call backend.Call, f func(context.Context, *state) error) error {
	st, err := openState(h.dir)
	if err != nil {
		return err
	}
	defer st.Close()
	return h.call(ctx, call, func(ctx context.Context) error { return f(ctx, st) })
}

// call is do for who keeps the state directory open over several calls.
func (h *host) call(ctx context.Context, call backend.Call, f func(context.Context) error) error {
	return h.caller.Do(ctx, call, func(ctx context.Context) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return f(ctx)
	})
}

// failed says what was attempted, where, and on which sandbox.
func (h *host) failed(attempt, handle string, err error) error {
	if handle != "" {
		attempt += " " + handle
	}
	return fmt.Errorf("%s on %q: %w", attempt, h.Scope(), err)
}

// ended reports whether a sandbox's own end is past.
func (h *host) ended(rec record) bool { return !h.clock.Now().Before(rec.ExpiresAt) }

// usable reports why nothing may run in a sandbox any more.
func (h *host) usable(rec record) error {
	switch {
	case rec.Status == statusStopping:
		return fmt.Errorf("%w: it is being destroyed", backend.ErrConflict)
	case h.ended(rec):
		return fmt.Errorf("%w: it ended at %s; renewing is possible only before", backend.ErrConflict, rec.ExpiresAt.Format(time.RFC3339))
	}
	return nil
}

// errOtherLife: the handle lives, but as another incarnation. It comes with
// ErrNotFound, since that one is gone.
var errOtherLife = errors.New("the handle lives as another incarnation")

// gone is the answer about a sandbox that is definitely not there.
func gone(ref sandbox.Ref) error {
	if ref.Incarnation == "" {
		return backend.ErrNotFound
	}
	return fmt.Errorf("%w: incarnation %s", backend.ErrNotFound, ref.Incarnation)
}
