// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modal-labs/modal-client/go"
	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestACreateWhoseReplyIsLostIsAdoptedOrLeavesNothing(t *testing.T) {
	for generation, g := range generations {
		for _, code := range []codes.Code{codes.Unavailable, codes.Internal, codes.Unknown, codes.DeadlineExceeded} {
			for after, want := range map[bool]int{true: 1, false: 0} {
				t.Run(fmt.Sprintf("%s/%s/after its effect: %t", generation, code, after), func(t *testing.T) {
					server, _ := opened(t, emulator.Options{}, "modal:")
					t.Setenv("MODAL_SANDBOX_V2", g.variable)
					a := at(t, "modal:")
					server.Fail(g.create, emulator.Fault{Code: code, After: after})
					got, err := backend.Create(t.Context(), a, request())
					if want == 1 && (err != nil || got.Tags["team"] != "research" || got.ServerEnds.IsZero()) {
						t.Errorf("Create = %+v, %v; want the one that was made", got, err)
					}
					if want == 0 {
						wantClass(t, err, backend.ErrUnavailable, "safe to try again")
					}
					if n := running(server); n != want {
						t.Errorf("%d sandboxes live, want %d", n, want)
					}
					if n := server.Calls()[g.create]; n != 1 {
						t.Errorf("%d create calls, want 1: only the Caller tries again", n)
					}
				})
			}
		}
	}
}

func TestACreateThatMeetsItsOwnNameIsAdopted(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	server.Fail("SandboxCreateV2", emulator.Fault{Code: codes.AlreadyExists, After: true})
	got, err := backend.Create(t.Context(), a, request())
	if err != nil || running(server) != 1 {
		t.Errorf("Create = %+v, %v; %d live", got, err, running(server))
	}
}

func TestASandboxOfTheSameNameButAnotherMarkIsLeftAlone(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	first, second := request(), request()
	first.Name = second.Name
	if _, err := backend.Create(t.Context(), a, first); err != nil {
		t.Fatal(err)
	}
	_, err := backend.Create(t.Context(), a, second)
	wantClass(t, err, backend.ErrConflict)
	if running(server) != 1 {
		t.Errorf("%d sandboxes live, want the first", running(server))
	}
}

func TestAKilledCreateIsFoundByItsMark(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	server.Fail("SandboxCreateV2", emulator.Fault{After: true, Stall: true})
	req := request()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := a.Create(ctx, req); !errors.Is(err, backend.ErrUnknownOutcome) {
		t.Errorf("Create without an answer: %v", err)
	}
	found, err := at(t, "modal:").Find(t.Context(), req.Mark)
	if err != nil || len(found) != 1 || found[0].Tags["team"] != "research" || found[0].Name != req.Name {
		t.Errorf("Find by another process = %+v, %v", found, err)
	}
}

func TestFindLooksTheNameUpWhereTheListLags(t *testing.T) {
	for generation, g := range generations {
		t.Run(generation, func(t *testing.T) {
			server, _ := opened(t, emulator.Options{}, "modal:")
			t.Setenv("MODAL_SANDBOX_V2", g.variable)
			a, req := at(t, "modal:"), request()
			if _, err := a.Create(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			server.Fail("SandboxListV2", emulator.Fault{Cut: true, Times: -1})
			found, err := at(t, "modal:").Find(t.Context(), req.Mark)
			if err != nil || len(found) != 1 || found[0].Tags["team"] != "research" {
				t.Errorf("Find = %+v, %v", found, err)
			}
		})
	}
}

func TestAV1SandboxThatIsMadeButNotScheduledIsEnded(t *testing.T) {
	server, _ := opened(t, emulator.Options{}, "modal:")
	t.Setenv("MODAL_SANDBOX_V2", "0")
	a := at(t, "modal:")
	server.Fail("SandboxGetTaskId", emulator.Fault{Code: codes.PermissionDenied, Times: -1})
	if _, err := backend.Create(t.Context(), a, request()); err == nil {
		t.Error("Create made a sandbox that nobody can use")
	}
	if n := running(server); n != 0 {
		t.Errorf("%d sandboxes live, want none", n)
	}
	server.Heal()
	server.Fail("SandboxGetTaskId", emulator.Fault{Code: codes.Unavailable, Times: 4})
	server.Fail("SandboxTerminate", emulator.Fault{Code: codes.Unavailable, Times: 8})
	got, err := backend.Create(t.Context(), a, request())
	if n := running(server); err != nil && n != 0 || err == nil && n != 1 {
		t.Errorf("Create = %s, %v; %d sandboxes live", got.Handle, err, n)
	}
}

func TestACreateKilledAtAnyCallLeavesOnlyWhatCarriesItsTags(t *testing.T) {
	for generation, g := range generations {
		t.Run(generation, func(t *testing.T) {
			server, _ := opened(t, emulator.Options{}, "modal:")
			t.Setenv("MODAL_SANDBOX_V2", g.variable)
			for n := 0; ; n++ {
				before := running(server)
				a, req := at(t, "modal:"), request()
				if !killedAt(t, a, n, req) {
					if n < 5 {
						t.Errorf("a create makes only %d calls", n)
					}
					return
				}
				found, err := at(t, "modal:").Find(t.Context(), req.Mark)
				if err != nil {
					t.Fatal(err)
				}
				if got := running(server) - before; got != len(found) {
					t.Errorf("killed at call %d: %d sandboxes were made, %d found", n, got, len(found))
				}
				for _, s := range found {
					if !maps.Equal(s.Tags, req.Tags) || s.ServerEnds.IsZero() {
						t.Errorf("killed at call %d: found %+v, want all of its tags and its end", n, s)
					}
				}
			}
		})
	}
}

// killedAt begins a create whose process vanishes when call n has taken effect,
// and reports whether there was such a call.
func killedAt(t *testing.T, a *app, n int, req backend.Request) bool {
	t.Helper()
	vanished, over := make(chan struct{}), make(chan struct{})
	calls := 0
	a.caller.Intercept = func(ctx context.Context, _ backend.Call, attempt func(context.Context) error) error {
		err := attempt(ctx)
		if calls++; calls == n+1 {
			close(vanished)
			<-t.Context().Done() // nothing of it is ever heard again
			return context.Canceled
		}
		return err
	}
	go func() {
		defer close(over)
		_, _ = a.Create(context.WithoutCancel(t.Context()), req)
	}()
	select {
	case <-vanished:
		return true
	case <-over:
		return false
	}
}

func TestACreateCallCarriesAllThatWasAskedFor(t *testing.T) {
	req := request()
	req.Spec = sandbox.Spec{
		Lifetime: 90*time.Minute + time.Millisecond, IdleTimeout: 10 * time.Minute, Workdir: "/srv/work", Env: map[string]string{"A": "b"},
		CPU: 0.25, MemoryMiB: 512, GPU: "T4:2", Region: "us-east", Cloud: "aws",
		Network: sandbox.NetworkPolicy{AllowEgressTo: []string{"*.example.org"}, AllowEgressToCIDRs: []string{"192.0.2.7"}},
	}
	want := &sdk.SandboxCreateParams{
		Name: req.Name, Tags: req.Tags, Timeout: 90*time.Minute + time.Second, IdleTimeout: 10 * time.Minute, Workdir: "/srv/work",
		Env: map[string]string{"A": "b"}, CPU: 0.25, MemoryMiB: 512, GPU: "T4:2", Regions: []string{"us-east"}, Cloud: "aws",
		OutboundDomainAllowlist: &sdk.Allowlist{Entries: []string{"*.example.org"}},
		OutboundCIDRAllowlist:   &sdk.Allowlist{Entries: []string{"192.0.2.7/32"}},
	}
	if diff := cmp.Diff(want, createParams(req), cmp.AllowUnexported()); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	req.Spec = sandbox.Spec{Lifetime: time.Hour}
	if got := createParams(req); !got.BlockNetwork || got.OutboundCIDRAllowlist != nil || got.Workdir != sandbox.DefaultWorkdir {
		t.Errorf("the plainest: %+v; want a blocked network and the default workdir", got)
	}
}
