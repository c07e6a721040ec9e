// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// clockSkew is how far a backend's clock may differ from ours.
const clockSkew = 2 * time.Minute

func testCheck(t *testing.T, p *place) {
	status, err := p.Check(t.Context())
	if err != nil {
		t.Fatalf("Check: %v", err)
	}

	t.Run("identity is there when it is promised", func(t *testing.T) {
		if got := status.Identity != ""; got != p.caps.Identity {
			t.Errorf("Check reports the identity %q, but Capabilities.Identity = %v", status.Identity, p.caps.Identity)
		}
	})
	t.Run("identity and scope are stable", func(t *testing.T) {
		again := open(t, p.Factory)
		status2, err := again.Check(t.Context())
		if err != nil {
			t.Fatalf("Check: %v", err)
		}
		if status2.Identity != status.Identity || again.Scope() != p.Scope() {
			t.Errorf("second look: identity %q, scope %q; first: %q, %q", status2.Identity, again.Scope(), status.Identity, p.Scope())
		}
		if p.Scope() == "" {
			t.Error("the scope is empty")
		}
	})
	t.Run("a check tells how far its clock is from ours", func(t *testing.T) {
		server, ok := p.Backend.(backend.ServerClock)
		if !ok {
			t.Skip("not a ServerClock")
		}
		if ahead, known := server.Ahead(); !known || ahead.Abs() > clockSkew {
			t.Errorf("ahead by %s, known %v; want at most %s", ahead, known, clockSkew)
		}
	})
	t.Run("preparing twice is no error", func(t *testing.T) {
		preparer, ok := p.Backend.(backend.Preparer)
		if !ok {
			t.Skip("not a Preparer")
		}
		if err := preparer.Prepare(t.Context()); err != nil {
			t.Errorf("Prepare: %v", err)
		}
	})
	t.Run("another location is told apart", func(t *testing.T) { testElsewhere(t, p, status) })
}

func testElsewhere(t *testing.T, p *place, here backend.Status) {
	if p.Elsewhere == nil {
		t.Skip("Factory.Elsewhere is not set")
	}
	there := open(t, Factory{Open: p.Elsewhere, Spec: p.Spec})
	status, err := there.Check(t.Context())
	if err != nil {
		t.Fatalf("Check: %v", err)
	}
	if there.Scope() == p.Scope() {
		t.Errorf("both locations have the scope %q", p.Scope())
	}
	if p.caps.Identity && status.Identity == here.Identity {
		t.Errorf("both locations have the identity %q", here.Identity)
	}
	made := p.create(t, nil)
	_, err = there.Get(t.Context(), made.Ref)
	wantError(t, "Get of a sandbox of another location", err, backend.ErrNotFound)
}

func testLifecycle(t *testing.T, p *place) {
	before := clock.System().Now()
	req := p.request(p.spec(), sandbox.Tags{"team": "research"})
	made := p.createFrom(t, req)

	t.Run("create returns a usable sandbox", func(t *testing.T) {
		if made.Handle == "" || made.State != sandbox.Running {
			t.Errorf("created handle %q, state %v; want a handle, running", made.Handle, made.State)
		}
		if got := p.sh(t, made.Ref, "echo ready"); got != "ready\n" {
			t.Errorf("echo ready printed %q", got)
		}
	})
	t.Run("get returns what was created", func(t *testing.T) {
		got := p.get(t, made.Ref)
		if got.Ref != made.Ref || got.State != sandbox.Running || got.Problem != "" {
			t.Errorf("Get = %+v, want %+v, running", got, made.Ref)
		}
		if got.TagsKnown {
			if diff := cmp.Diff(req.Tags, got.Tags); p.caps.Tags != backend.NoTags && diff != "" {
				t.Errorf("tags (-requested +read):\n%s", diff)
			}
		}
	})
	t.Run("get without incarnation matches any", func(t *testing.T) {
		if got := p.get(t, sandbox.Ref{Handle: made.Handle}); got.Ref != made.Ref {
			t.Errorf("Get = %+v, want %+v", got.Ref, made.Ref)
		}
	})
	t.Run("times are near ours or unknown", func(t *testing.T) {
		got := p.get(t, made.Ref)
		within(t, "CreatedAt", got.CreatedAt, before.Add(-clockSkew), clock.System().Now().Add(clockSkew))
		within(t, "ServerEnds", got.ServerEnds, req.ExpiresAt.Add(-clockSkew), req.ExpiresAt.Add(clockSkew))
		if p.caps.ServerEnds && got.ServerEnds.IsZero() {
			t.Error("the backend ends sandboxes by itself, but does not say when")
		}
	})
	t.Run("find returns it by its mark and nothing by another", func(t *testing.T) {
		if found := p.alive(t, req.Mark); len(found) != 1 || found[0].Ref != made.Ref {
			t.Errorf("Find(%s) = %+v, want only %s", req.Mark, found, made.Handle)
		}
		if found := p.alive(t, sandbox.NewMark()); len(found) != 0 {
			t.Errorf("Find of a mark never used = %+v, want none", found)
		}
	})
	t.Run("a second process sees it", func(t *testing.T) {
		if got := open(t, p.Factory).get(t, made.Ref); got.Ref != made.Ref {
			t.Errorf("Get = %+v, want %+v", got.Ref, made.Ref)
		}
	})
	t.Run("another incarnation is not it", func(t *testing.T) { testIncarnation(t, p, made) })
	t.Run("no strange handle reaches anything", func(t *testing.T) { testStrangeHandles(t, p, made) })
	t.Run("destroying twice is no error", func(t *testing.T) {
		doomed := p.create(t, nil)
		for range 2 {
			if err := p.Destroy(t.Context(), doomed.Ref); err != nil {
				t.Errorf("Destroy: %v", err)
			}
		}
		p.gone(t, doomed.Ref)
		if err := p.Destroy(t.Context(), doomed.Ref); err != nil {
			t.Errorf("Destroy of what is gone: %v", err)
		}
	})
	t.Run("a destroyed sandbox is not found", func(t *testing.T) { testGone(t, p) })
}

func testIncarnation(t *testing.T, p *place, made sandbox.Sandbox) {
	if made.Incarnation == "" {
		t.Skip("handles are never reused here")
	}
	other := sandbox.Ref{Handle: made.Handle, Incarnation: made.Incarnation + "0"}
	_, err := p.Get(t.Context(), other)
	wantError(t, "Get of another incarnation", err, backend.ErrNotFound)
	wantError(t, "Destroy of another incarnation", p.Destroy(t.Context(), other), backend.ErrConflict)
	_, err = p.Exec(t.Context(), other, backend.Command{Argv: []string{"true"}, Timeout: commandTimeout})
	wantError(t, "Exec in another incarnation", err, backend.ErrNotFound, backend.ErrConflict)
	if p.caps.Tags == backend.TagsEditable {
		wantError(t, "SetTags of another incarnation", p.SetTags(t.Context(), other, sandbox.Tags{}), backend.ErrNotFound, backend.ErrConflict)
	}
	if got := p.get(t, made.Ref); got.State != sandbox.Running {
		t.Errorf("afterwards the sandbox is %v, want running", got.State)
	}
}

func testStrangeHandles(t *testing.T, p *place, made sandbox.Sandbox) {
	for _, handle := range []string{"", ".", "..", "../" + made.Handle, "/", made.Handle + "/", "*", "-", "\x00", "\xff", strings.Repeat("x", 5000)} {
		ref := sandbox.Ref{Handle: handle}
		if got, err := p.Get(t.Context(), ref); err == nil {
			t.Errorf("Get(%q) = %+v, want an error", handle, got)
		}
		if _, err := p.Exec(t.Context(), ref, backend.Command{Argv: []string{"true"}, Timeout: commandTimeout}); err == nil {
			t.Errorf("Exec in %q ran", handle)
		}
		_ = p.Destroy(t.Context(), ref) // an error or nothing to do; what it must not do is checked below
	}
	if got := p.get(t, made.Ref); got.State != sandbox.Running {
		t.Errorf("afterwards the sandbox is %v, want running", got.State)
	}
}

func testGone(t *testing.T, p *place) {
	req := p.request(p.spec(), nil)
	made := p.createFrom(t, req)
	p.gone(t, made.Ref)

	if s, err := p.Get(t.Context(), made.Ref); err != nil || s.State != sandbox.Ended {
		wantError(t, "Get", err, backend.ErrNotFound)
	}
	if found := p.alive(t, req.Mark); len(found) != 0 {
		t.Errorf("Find = %+v, want none", found)
	}
	for what, use := range p.tools(made.Ref) {
		wantError(t, what, use(t.Context()), backend.ErrNotFound)
	}
	if p.caps.Tags == backend.TagsEditable {
		wantError(t, "SetTags", p.SetTags(t.Context(), made.Ref, sandbox.Tags{}), backend.ErrNotFound)
	}
}

func within(t *testing.T, what string, at, from, to time.Time) {
	t.Helper()
	if !at.IsZero() && (at.Before(from) || at.After(to)) {
		t.Errorf("%s = %s, want from %s to %s", what, at, from, to)
	}
}
