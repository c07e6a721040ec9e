// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"errors"
	"testing"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// total counts the calls that the server has seen since it was reset.
func total(server *emulator.Server) int {
	n := 0
	for _, count := range server.Calls() {
		n += count
	}
	return n
}

func TestAListingCostsNoCallPerSandbox(t *testing.T) {
	server, _ := opened(t, emulator.Options{}, "modal:")
	var seeds []emulator.Seed
	for range 950 {
		seeds = append(seeds, emulator.Seed{App: defaultApp, Timeout: time.Hour, Tags: map[string]string{sandbox.TagAttempt: sandbox.NewMark()}})
	}
	if _, err := server.Seed(seeds...); err != nil {
		t.Fatal(err)
	}
	a := at(t, "modal:")
	server.ResetCalls()
	n := 0
	for s, err := range a.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if !s.TagsKnown || s.Tags[sandbox.TagAttempt] == "" || s.CreatedAt.IsZero() || s.ServerEnds.IsZero() {
			t.Fatalf("listed %+v, want tags and times", s)
		}
		n++
	}
	if most := 10 + 5; n != 950 || total(server) > most {
		t.Errorf("%d sandboxes in %d calls, want 950 in at most %d: %v", n, total(server), most, server.Calls())
	}
}

func TestReclaimingASandboxCostsThreeCalls(t *testing.T) {
	for generation, g := range generations {
		t.Run(generation, func(t *testing.T) {
			server, _ := opened(t, emulator.Options{PollLag: 30 * time.Second, KeepTaskID: true}, "modal:")
			t.Setenv("MODAL_SANDBOX_V2", g.variable)
			doomed := made(t, at(t, "modal:"))
			a := at(t, "modal:")
			for _, err := range a.List(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
			}
			server.ResetCalls()
			if _, err := a.Get(t.Context(), doomed.Ref); err != nil {
				t.Fatal(err)
			}
			if err := a.Destroy(t.Context(), doomed.Ref); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Get(t.Context(), doomed.Ref); !errors.Is(err, backend.ErrNotFound) {
				t.Errorf("after the end: %v, want not found at once", err)
			}
			if total(server) > 3 {
				t.Errorf("%d calls, want 3: %v", total(server), server.Calls())
			}
		})
	}
}

func TestBothGenerationsStandSideBySide(t *testing.T) {
	server, _ := opened(t, emulator.Options{}, "modal:")
	handles := map[string]bool{}
	for _, g := range generations {
		t.Setenv("MODAL_SANDBOX_V2", g.variable)
		handles[made(t, at(t, "modal:")).Handle] = true
	}
	t.Setenv("MODAL_SANDBOX_V2", "1")
	a, req := at(t, "modal:"), request()
	req.Spec.GPU = "T4"
	withGPU, err := backend.Create(t.Context(), a, req)
	if err != nil {
		t.Fatal(err)
	}
	handles[withGPU.Handle] = true
	if n := server.Calls()["SandboxCreate"]; n != 2 || !firstGeneration.MatchString(withGPU.Handle) {
		t.Errorf("%d V1 creates; a GPU gave %s; want 2, V1", n, withGPU.Handle)
	}
	for _, variable := range []string{"0", "1"} { // in somebody's environment it must hide nothing
		t.Setenv("MODAL_SANDBOX_V2", variable)
		n := 0
		for s, err := range at(t, "modal:").List(t.Context()) {
			if err != nil || !handles[s.Handle] {
				t.Errorf("listed %s, %v", s.Handle, err)
			}
			n++
		}
		if n != 3 {
			t.Errorf("MODAL_SANDBOX_V2=%s: listed %d, want 3", variable, n)
		}
	}
}

func TestOnlyASandboxThatTheRouterDeniesIsGone(t *testing.T) {
	for generation, g := range generations {
		for _, keep := range []bool{true, false} {
			t.Run(generation, func(t *testing.T) {
				server, _ := opened(t, emulator.Options{PollLag: time.Minute, KeepTaskID: keep}, "modal:")
				t.Setenv("MODAL_SANDBOX_V2", g.variable)
				a := at(t, "modal:")
				s := made(t, a)
				if err := a.Destroy(t.Context(), s.Ref); err != nil {
					t.Fatal(err)
				}
				begun := server.Now()
				if err := backend.WaitGone(t.Context(), a, s.Ref); err != nil {
					t.Fatal(err)
				}
				if took := server.Now().Sub(begun); took > 10*time.Second {
					t.Errorf("seen to be gone after %s, which is the poll's lag", took)
				}
			})
		}
	}
}

func TestAnAppThatWasReplacedIsSeenByALaterListing(t *testing.T) {
	server, _ := opened(t, emulator.Options{}, "modal:")
	a := at(t, "modal:")
	now := clock.NewFake(clock.System().Now())
	a.clock = now
	count := func() (n int) {
		for _, err := range a.List(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		return n
	}
	made(t, a)
	before, err := a.Check(t.Context())
	if err != nil || count() != 1 {
		t.Fatal(err)
	}
	s, err := a.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.rpc.AppStop(t.Context(), pb.AppStopRequest_builder{AppId: s.found.AppID}.Build()); err != nil {
		t.Fatal(err)
	}
	if err := at(t, "modal:").Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := server.Seed(emulator.Seed{App: defaultApp, Timeout: time.Hour}, emulator.Seed{App: defaultApp, Timeout: time.Hour}); err != nil {
		t.Fatal(err)
	}
	now.Advance(2 * freshFor)
	if n := count(); n != 2 {
		t.Errorf("listed %d, want the two of the new app", n)
	}
	after, err := a.Check(t.Context())
	if err != nil || after.Identity == before.Identity {
		t.Errorf("identity %q, %v; want another than %q", after.Identity, err, before.Identity)
	}
}

func TestALookCostsItsPagesAndAFewCallsMore(t *testing.T) {
	server, _ := opened(t, emulator.Options{}, "modal:")
	seeds := make([]emulator.Seed, 10_000)
	for i := range seeds {
		seeds[i] = emulator.Seed{
			App: defaultApp, Timeout: time.Hour, Tags: map[string]string{"n": "x"},
			Created: server.Now().Add(-time.Duration(i) * time.Millisecond),
		}
	}
	if _, err := server.Seed(seeds...); err != nil {
		t.Fatal(err)
	}
	a := at(t, "modal:")
	server.ResetCalls()
	if _, err := a.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range a.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	// 100 pages, the empty one that ends a list in Modal's clients too, and five.
	if most := 100 + 1 + 5; n != 10_000 || total(server) > most {
		t.Errorf("%d sandboxes in %d calls, want 10000 in at most %d: %v", n, total(server), most, server.Calls())
	}
}
