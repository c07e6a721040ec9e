// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"errors"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// longestRealWait is how long the suite itself waits for the end of a lifetime.
const longestRealWait = time.Minute

func testEndOfLife(t *testing.T, p *place) {
	renewer, renews := p.Backend.(backend.Renewer)

	t.Run("a renewal moves the end", func(t *testing.T) {
		if !renews {
			t.Skip("not a Renewer")
		}
		req := p.request(p.spec(), nil)
		made := p.createFrom(t, req)
		until := req.ExpiresAt.Add(p.spec().Lifetime / 2)
		if p.caps.LifetimeMax > 0 {
			until = earlier(until, clock.System().Now().Add(p.caps.LifetimeMax).Truncate(time.Second))
		}
		ends, err := renewer.Renew(t.Context(), made.Ref, until)
		if err != nil {
			t.Fatalf("Renew: %v", err)
		}
		within(t, "the end returned", ends, until.Add(-time.Second), until.Add(clockSkew))
		within(t, "ServerEnds", p.get(t, made.Ref).ServerEnds, until.Add(-time.Second), until.Add(clockSkew))
	})
	t.Run("a renewal never shortens a life", func(t *testing.T) {
		if !renews {
			t.Skip("not a Renewer")
		}
		made := p.create(t, nil)
		before := p.get(t, made.Ref).ServerEnds
		for _, until := range []time.Time{clock.System().Now().Add(p.spec().Lifetime / 2), clock.System().Now().Add(-time.Hour)} {
			ends, err := renewer.Renew(t.Context(), made.Ref, until)
			if err == nil && ends.Before(before) {
				t.Errorf("Renew to %s = %s, before it was %s", until, ends, before)
			}
		}
		if after := p.get(t, made.Ref).ServerEnds; after.Before(before) {
			t.Errorf("ServerEnds = %s, before it was %s", after, before)
		}
	})
	t.Run("a renewal of what is gone is not found", func(t *testing.T) {
		if !renews {
			t.Skip("not a Renewer")
		}
		made := p.create(t, nil)
		p.gone(t, made.Ref)
		_, err := renewer.Renew(t.Context(), made.Ref, clock.System().Now().Add(time.Hour))
		wantError(t, "Renew", err, backend.ErrNotFound)
	})
	t.Run("nothing is used past its end", func(t *testing.T) { testPastEnd(t, p, renewer) })
}

// testPastEnd lets a sandbox reach its end. It comes last: a clock that was
// moved does not go back.
func testPastEnd(t *testing.T, p *place, renewer backend.Renewer) {
	spec := p.spec()
	spec.Lifetime = max(p.caps.LifetimeMin, time.Second)
	if p.Advance == nil && spec.Lifetime > longestRealWait {
		t.Skipf("the shortest lifetime is %s, and Factory.Advance is not set", spec.Lifetime)
	}
	made := p.createFrom(t, p.request(spec, nil))
	if p.get(t, made.Ref).ServerEnds.IsZero() {
		t.Skip("the backend knows no end of its own")
	}
	wait := spec.Lifetime + time.Second
	if p.Advance != nil {
		p.Advance(t, wait)
	} else {
		time.Sleep(wait)
	}

	over := func() bool {
		s, err := p.Get(t.Context(), made.Ref)
		return isGone(s, err)
	}
	if p.caps.ServerEnds && !p.eventually(t, over) {
		t.Errorf("the backend did not end %s", made.Handle)
	}
	if _, err := p.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"true"}, Timeout: commandTimeout}); err == nil {
		t.Error("a command ran past the end")
	}
	if renewer != nil {
		if ends, err := renewer.Renew(t.Context(), made.Ref, clock.System().Now().Add(24*time.Hour)); err == nil {
			t.Errorf("Renew past the end = %s, want an error", ends)
		}
	}
	if s, err := p.Get(t.Context(), made.Ref); !isGone(s, err) && err != nil {
		t.Errorf("Get past the end: %v; want the sandbox, ended, or not found", err)
	}
}

func isGone(s sandbox.Sandbox, err error) bool {
	return errors.Is(err, backend.ErrNotFound) || err == nil && s.State == sandbox.Ended
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
