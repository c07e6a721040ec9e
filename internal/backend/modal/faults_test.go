// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// generations are the calls that make a sandbox, by the variable that asks for
// them.
var generations = map[string]struct{ variable, create string }{
	"V2": {"1", "SandboxCreateV2"},
	"V1": {"0", "SandboxCreate"},
}

// opened returns the app of uri on a fresh emulator, ready for use.
func opened(t *testing.T, options emulator.Options, uri string) (*emulator.Server, *app) {
	t.Helper()
	server := start(t, options)
	a := at(t, uri)
	if err := a.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return server, a
}

func at(t *testing.T, uri string) *app {
	t.Helper()
	return opener(t, uri, nil)(t, &backend.Caller{MinWait: time.Millisecond}).(*app)
}

func request() backend.Request {
	spec := sandbox.Spec{Lifetime: time.Hour, Env: map[string]string{"PASSWORD": "hunter2"}}
	return backend.NewRequest(spec, sandbox.Tags{"team": "research"}, clock.System().Now())
}

// made makes one sandbox.
func made(t *testing.T, a *app) sandbox.Sandbox {
	t.Helper()
	s, err := backend.Create(t.Context(), a, request())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wantClass(t *testing.T, err, class error, says ...string) {
	t.Helper()
	if !errors.Is(err, class) {
		t.Errorf("error %v, want %v", err, class)
		return
	}
	for _, text := range says {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

// running counts what lives on the server.
func running(server *emulator.Server) int {
	n := 0
	for _, s := range server.Sandboxes() {
		if s.Running {
			n++
		}
	}
	return n
}

func TestThrottlingIsWaitedForWithinABound(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	server.Fail("SandboxCreateV2", emulator.Fault{Code: codes.ResourceExhausted, RetryAfter: 10 * time.Millisecond, Times: 3})
	made(t, a)
	if n := server.Calls()["SandboxCreateV2"]; n != 4 {
		t.Errorf("%d create calls, want the fourth to succeed", n)
	}
	for method, use := range map[string]func() error{
		"SandboxCreateV2": func() error { _, err := backend.Create(t.Context(), a, request()); return err },
		"SandboxListV2": func() error {
			for _, err := range a.List(t.Context()) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	} {
		server.Fail(method, emulator.Fault{Code: codes.ResourceExhausted, RetryAfter: 10 * time.Minute, Times: -1})
		err := use()
		wantClass(t, err, backend.ErrUnavailable)
		if asked, ok := errors.AsType[*backend.RetryAfterError](err); !ok || asked.After != 10*time.Minute {
			t.Errorf("%s: %v, want it to say when to come back", method, err)
		}
		server.Heal()
	}
	server.Fail("SandboxCreateV2", emulator.Fault{Code: codes.ResourceExhausted, Message: "Sandbox creation rate limit (5/s) exceeded"})
	_, err := backend.Create(t.Context(), a, request())
	wantClass(t, err, backend.ErrUnavailable, "rate limit (5/s)")
	if n := running(server); n != 1 {
		t.Errorf("%d sandboxes live, want 1", n)
	}
}

func TestAListingIsCompleteOrAnError(t *testing.T) {
	server, a := opened(t, emulator.Options{PageSize: 4}, "modal:")
	for range 10 {
		made(t, a)
	}
	count := func() (int, error) {
		n := 0
		for _, err := range a.List(t.Context()) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	for name, fault := range map[string]emulator.Fault{
		"whole pages":                 {Times: 1},
		"a short page":                {Cut: true, Keep: 2, Times: 1},
		"a second page that is short": {Cut: true, Keep: 1, Skip: 1, Times: 1},
		"a reply lost once":           {Code: codes.Unavailable, Skip: 1, Times: 1},
	} {
		server.Fail("SandboxListV2", fault)
		if n, err := count(); err != nil || n != 10 {
			t.Errorf("%s: listed %d, %v; want 10", name, n, err)
		}
		server.Heal()
	}
	for name, fault := range map[string]emulator.Fault{
		"no second page":   {Code: codes.Unavailable, Skip: 1, Times: -1},
		"not permitted":    {Code: codes.PermissionDenied, Skip: 2, Times: -1},
		"no such app":      {Code: codes.NotFound, Times: -1},
		"an unknown error": {Code: codes.Unknown, Skip: 1, Times: -1},
	} {
		server.Fail("SandboxListV2", fault)
		if n, err := count(); err == nil {
			t.Errorf("%s: a listing of %d claims to be complete", name, n)
		}
		server.Heal()
	}
}

func TestAnAppThatIsNotListedIsNotASandboxThatIsGone(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	server.Fail("SandboxListV2", emulator.Fault{Code: codes.NotFound, Times: -1})
	for _, what := range []string{"Get", "Find", "List"} {
		if err := uses(a, s.Handle)[what](t.Context()); err == nil || errors.Is(err, backend.ErrNotFound) {
			t.Errorf("%s: %v; want an error about the app", what, err)
		}
	}
}

func TestAServerThatNeverAnswersIsGivenUp(t *testing.T) {
	for _, method := range []string{"AuthTokenGet", "AppGetOrCreate", "SandboxListV2"} {
		t.Run(method, func(t *testing.T) {
			server, _ := opened(t, emulator.Options{}, "modal:")
			server.Fail(method, emulator.Fault{Stall: true, Times: -1})
			a := at(t, "modal:")
			a.caller.Intercept = func(ctx context.Context, _ backend.Call, attempt func(context.Context) error) error {
				ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				return attempt(ctx)
			}
			begun := clock.System().Now()
			for _, err := range a.List(t.Context()) {
				wantClass(t, err, backend.ErrUnavailable)
			}
			if took := clock.System().Now().Sub(begun); took > 10*time.Second {
				t.Errorf("gave up after %s", took)
			}
		})
	}
	for method := range repeatable {
		if call := callOf("/modal.client.ModalClient/" + method); call.Deadline <= 0 || call.Deadline > time.Minute {
			t.Errorf("%s may take %s", method, call.Deadline)
		}
	}
}

func TestACheckOfAServerThatNeverAnswersEndsWithinItsBound(t *testing.T) {
	for _, method := range []string{"AuthTokenGet", "AppGetOrCreate", "WorkspaceNameLookup"} {
		t.Run(method, func(t *testing.T) {
			server, _ := opened(t, emulator.Options{}, "modal:")
			server.Fail(method, emulator.Fault{Stall: true, Times: -1})
			a := at(t, "modal:")
			a.checkWithin = 300 * time.Millisecond
			begun := clock.System().Now()
			_, err := a.Check(t.Context())
			wantClass(t, err, backend.ErrUnavailable, `check on "modal:": `)
			if took := clock.System().Now().Sub(begun); took > 10*time.Second {
				t.Errorf("gave up after %s", took)
			}
		})
	}
	if checkWithin > 15*time.Second {
		t.Errorf("a check may take %s, want seconds", checkWithin)
	}
}

func TestASandboxThatModalDoesNotTerminateIsNotTakenForGone(t *testing.T) {
	for generation, g := range generations {
		for _, code := range []codes.Code{codes.Aborted, codes.FailedPrecondition, codes.AlreadyExists} {
			t.Run(generation+"/"+code.String(), func(t *testing.T) {
				t.Setenv("MODAL_SANDBOX_V2", g.variable)
				server, a := opened(t, emulator.Options{}, "modal:")
				s := made(t, a)
				server.Fail(strings.Replace(g.create, "Create", "Terminate", 1), emulator.Fault{Code: code})
				err := a.Destroy(t.Context(), s.Ref)
				wantClass(t, err, backend.ErrUnavailable, s.Handle)
				if errors.Is(err, backend.ErrConflict) || running(server) != 1 {
					t.Errorf("error %v with %d sandboxes live; want one, and no conflict", err, running(server))
				}
				if err := a.Destroy(t.Context(), s.Ref); err != nil || running(server) != 0 {
					t.Errorf("again: %v with %d sandboxes live", err, running(server))
				}
			})
		}
	}
}

func TestADestroyTellsWhetherAnotherHadEndedTheSandboxBefore(t *testing.T) {
	for generation, g := range generations {
		t.Run(generation, func(t *testing.T) {
			t.Setenv("MODAL_SANDBOX_V2", g.variable)
			server, a := opened(t, emulator.Options{PollLag: time.Hour}, "modal:")
			first, second := made(t, a), made(t, a)
			other := at(t, "modal:")
			tells := func(who *app, ref sandbox.Ref, want bool) {
				t.Helper()
				if ended, err := who.DestroyTelling(t.Context(), ref); err != nil || ended != want {
					t.Errorf("ended before: %t, error %v; want %t", ended, err, want)
				}
			}
			tells(a, first.Ref, false)
			tells(other, first.Ref, true) // which its list still calls running
			server.Fail(strings.Replace(g.create, "Create", "Terminate", 1), emulator.Fault{Code: codes.Unavailable, After: true})
			tells(a, second.Ref, false) // the first answer was lost: it may have been ours
		})
	}
}

func TestAnotherIncarnationIsNotDestroyed(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	wantClass(t, a.Destroy(t.Context(), sandbox.Ref{Handle: s.Handle, Incarnation: "2"}), backend.ErrConflict, s.Handle)
	if known := a.memory.of(s.Handle); known.destroyed || running(server) != 1 {
		t.Errorf("it is remembered as destroyed: %t, with %d sandboxes live", known.destroyed, running(server))
	}
}

func TestNoSecretIsInAnyTextOrLog(t *testing.T) {
	var log bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	t.Cleanup(func() { slog.SetDefault(was) })

	server, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	if _, err := a.Exec(t.Context(), s.Ref, backend.Command{Argv: []string{"true"}, Env: map[string]string{"X": "hunter2"}, Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	secret := server.Token().Secret
	server.RevokeToken(server.Token().ID)
	t.Setenv("MODAL_TOKEN_SECRET", "as-another-secret")
	_, err := at(t, "modal:").Check(t.Context())
	wantClass(t, err, backend.ErrUnauthorized)
	for _, text := range []string{err.Error(), log.String()} {
		for _, secret := range []string{secret, "as-another-secret", "hunter2"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in: %s", secret, text)
			}
		}
	}
	if !strings.Contains(log.String(), "SandboxCreateV2") {
		t.Error("the client's log does not arrive")
	}
}
