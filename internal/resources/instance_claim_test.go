// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// shared is one sandbox whose tags others write, too, as at Modal: whole sets,
// and nothing is compared before.
type shared struct {
	backend.Backend
	tags   sandbox.Tags
	writes []sandbox.Tags
	after  func(s *shared) error // each of our writes
	comes  time.Time             // when a task that read before us writes over all; zero: never
	letsGo time.Time             // from when the task holds it no more; zero: never
}

func (s *shared) Scope() string { return "modal:" }

func (s *shared) Capabilities() backend.Capabilities {
	return backend.Capabilities{Attachable: true, Tags: backend.TagsEditable}
}

func (s *shared) Get(context.Context, sandbox.Ref) (sandbox.Sandbox, error) {
	if !s.comes.IsZero() && !clock.System().Now().Before(s.comes) {
		s.tags, s.comes = sandbox.Tags{airflow.TagOwner: s.tags[airflow.TagOwner], airflow.TagHolder: holder}, time.Time{}
	}
	if airflow.Holder(s.tags) == holder && !s.letsGo.IsZero() && !clock.System().Now().Before(s.letsGo) {
		delete(s.tags, airflow.TagHolder)
	}
	return sandbox.Sandbox{Ref: sandbox.Ref{Handle: "sb"}, State: sandbox.Running, Tags: s.tags.Clone(), TagsKnown: true}, nil
}

func (s *shared) SetTags(_ context.Context, _ sandbox.Ref, tags sandbox.Tags) error {
	s.tags = tags.Clone()
	s.writes = append(s.writes, tags.Clone())
	if s.after != nil {
		return s.after(s)
	}
	return nil
}

func claimOn(t *testing.T, s *shared, onHeld string) *claim {
	r := &instanceResource{configured{&Connections{Clock: clock.NewFake(noon)}}}
	return r.newClaim(opened(t, "local:///a", s), sandbox.Ref{Handle: "sb"}, onHeld)
}

const holder = "etl/run/load"

func TestClaimIsOneWriteWithTheTeardownMark(t *testing.T) {
	s := &shared{tags: sandbox.Tags{"foreign": "kept"}}
	c := claimOn(t, s, onHeldWait)
	if by, err := c.take(t.Context()); by != "" || err != nil {
		t.Fatalf("held by %q, %v", by, err)
	}
	if len(s.writes) != 1 || !sandbox.IsClaim(airflow.Holder(s.tags)) ||
		s.tags[sandbox.TagTeardownAt] != "1796040000" || s.tags["foreign"] != "kept" {
		t.Errorf("wrote %v", s.writes)
	}
}

// A task that read before our write and wrote after it has undone it; the read
// that follows tells.
func TestClaimThatATaskOverwritesIsNotTaken(t *testing.T) {
	s := &shared{tags: sandbox.Tags{"foreign": "kept"}}
	attached := sandbox.Tags{"foreign": "kept", airflow.TagHolder: holder}
	s.after = func(s *shared) error { s.tags = attached.Clone(); return nil }
	by, err := claimOn(t, s, onHeldRetire).take(t.Context())
	if by != holder || err != nil || !maps.Equal(s.tags, attached) {
		t.Errorf("held by %q, %v; the tags are %v", by, err, s.tags)
	}
}

// A task that read before our write may also write after the read that follows.
func TestClaimThatATaskOverwritesAMomentLaterIsNotTaken(t *testing.T) {
	for onHeld, left := range map[string]string{onHeldRetire: holder, onHeldWait: "", onHeldKill: ""} {
		t.Run(onHeld, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := clock.System().Now()
				s := &shared{tags: sandbox.Tags{airflow.TagOwner: "etl/run"}, comes: began.Add(airflow.Settling / 2), letsGo: began.Add(time.Minute)}
				by, err := claimOn(t, s, onHeld).take(t.Context())
				if by != left || err != nil {
					t.Fatalf("held by %q, %v", by, err)
				}
				waited := clock.System().Now().Sub(began) >= time.Minute
				if waited != (onHeld == onHeldWait) {
					t.Errorf("waited for the task: %t", waited)
				}
			})
		})
	}
}

func TestClaimOfWhichNothingIsKnownIsWithdrawn(t *testing.T) {
	before := sandbox.Tags{"foreign": "kept"}
	s := &shared{tags: before.Clone()}
	s.after = func(*shared) error { return backend.ErrUnauthorized }
	if _, err := claimOn(t, s, onHeldWait).take(t.Context()); !errors.Is(err, backend.ErrUnauthorized) {
		t.Errorf("said %v", err)
	}
	if !maps.Equal(s.tags, before) {
		t.Errorf("the tags are %v", s.tags)
	}
}

func TestClaimLeftByADestroyThatWasKilledIsTakenOver(t *testing.T) {
	s := &shared{tags: sandbox.Tags{airflow.TagHolder: sandbox.NewClaim(), sandbox.TagTeardownAt: "1"}}
	if by, err := claimOn(t, s, onHeldWait).take(t.Context()); by != "" || err != nil || s.tags[sandbox.TagTeardownAt] != "1" {
		t.Errorf("held by %q, %v; the tags are %v", by, err, s.tags)
	}
}

// Outside a task Airflow's toolset holds a sandbox under the owner's name.
func TestHolderThatIsNamedAsTheOwnerIsNotRobbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const owner = "terraform:prod/analysis"
		s := &shared{tags: sandbox.Tags{airflow.TagOwner: owner, airflow.TagHolder: owner}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := claimOn(t, s, onHeldWait).take(ctx); err == nil || !strings.Contains(err.Error(), owner+" still holds it") || len(s.writes) > 0 {
			t.Errorf("said %v, wrote %v", err, s.writes)
		}
	})
}

func TestClaimWaitsUntilTheTaskLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := clock.System().Now()
		s := &shared{tags: sandbox.Tags{airflow.TagHolder: holder}, letsGo: began.Add(time.Hour)}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
		defer cancel()
		if by, err := claimOn(t, s, onHeldWait).take(ctx); by != "" || err != nil {
			t.Fatalf("held by %q, %v", by, err)
		}
		if waited := clock.System().Now().Sub(began); waited < time.Hour || waited > time.Hour+longestLook {
			t.Errorf("waited %s", waited)
		}
	})
}

func TestClaimGivesUpAtTheTimeoutAndWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shared{tags: sandbox.Tags{airflow.TagHolder: holder}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := claimOn(t, s, onHeldWait).take(ctx)
		if err == nil || len(s.writes) > 0 {
			t.Fatalf("said %v, wrote %v", err, s.writes)
		}
		for _, text := range []string{holder + " still holds it", "deposed", "sandbox release 'modal:' "} {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("does not say %q: %v", text, err)
			}
		}
	})
}

func TestWriteThatThePlaceRefusesKeepsNothingFromBeingDestroyed(t *testing.T) {
	for _, c := range []struct {
		held, onHeld, left string
		refusal, want      error
	}{
		{"", onHeldWait, "", backend.ErrInvalid, nil},
		{"", onHeldRetire, "", backend.ErrInvalid, nil},
		{holder, onHeldKill, "", backend.ErrInvalid, nil},
		{holder, onHeldRetire, holder, backend.ErrInvalid, nil},
		{holder, onHeldKill, "", backend.ErrUnauthorized, backend.ErrUnauthorized},
	} {
		s := &shared{tags: sandbox.Tags{}, after: func(*shared) error { return c.refusal }}
		if c.held != "" {
			s.tags[airflow.TagHolder] = c.held
		}
		by, err := claimOn(t, s, c.onHeld).take(t.Context())
		if by != c.left || !errors.Is(err, c.want) {
			t.Errorf("held by %q, on_held %s, %v: left to %q, %v", c.held, c.onHeld, c.refusal, by, err)
		}
	}
}

func TestNothingIsClaimedWhereAirflowCannotAttach(t *testing.T) {
	r := &instanceResource{configured{&Connections{Clock: clock.NewFake(noon)}}}
	c := r.newClaim(opened(t, "local:///a", plain{}), sandbox.Ref{Handle: "sb"}, onHeldWait)
	if by, err := c.take(t.Context()); by != "" || err != nil {
		t.Errorf("held by %q, %v", by, err)
	}
}
