// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

func sh(script string) backend.Command {
	return backend.Command{Argv: []string{"sh", "-c", script}, Timeout: time.Minute}
}

func TestACommandPastItsDeadlineHasTimedOutWhateverTheServerSays(t *testing.T) {
	for name, delay := range map[string]time.Duration{"137 at once": -1, "137 later": 300 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			_, a := opened(t, emulator.Options{DeadlineReportDelay: delay}, "modal:")
			s := made(t, a)
			cmd := sh("echo before; sleep 60")
			cmd.Timeout = time.Second
			got, err := a.Exec(t.Context(), s.Ref, cmd)
			if err != nil || !got.TimedOut || got.ExitCode != -1 || got.Terminated || string(got.Stdout) != "before\n" {
				t.Errorf("Exec = %+v, %v; want -1, timed out, and the output so far", got, err)
			}
			early, err := a.Exec(t.Context(), s.Ref, sh("kill -9 $$"))
			if err != nil || early.TimedOut || early.ExitCode != 137 {
				t.Errorf("killed by itself: %+v, %v; want 137", early, err)
			}
		})
	}
}

func TestASandboxThatEndsUnderACommandIsTold(t *testing.T) {
	for generation, g := range generations {
		for name, keep := range map[string]bool{"task kept": true, "task dropped": false} {
			t.Run(generation+"/"+name, func(t *testing.T) {
				server, _ := opened(t, emulator.Options{KeepTaskID: keep}, "modal:")
				t.Setenv("MODAL_SANDBOX_V2", g.variable)
				a := at(t, "modal:")
				s := made(t, a)
				pipe, begun := io.Pipe()
				go func() {
					_, _ = begun.Write([]byte("go\n")) // returns when the command is being fed
					_ = server.Evict(s.Handle)
				}()
				cmd := sh("read x; echo got $x; sleep 60")
				cmd.Stdin = pipe
				got, err := a.Exec(t.Context(), s.Ref, cmd)
				if err != nil || !got.Terminated || got.ExitCode == 0 || got.TimedOut {
					t.Errorf("Exec = %+v, %v; want terminated", got, err)
				}
				_, err = a.Exec(t.Context(), s.Ref, sh("true"))
				wantClass(t, err, backend.ErrNotFound)
			})
		}
	}
}

func TestABackgroundProcessDoesNotHoldACommandOpen(t *testing.T) {
	_, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	cmd := sh("echo out; sleep 30 & exit 4")
	got, err := a.Exec(t.Context(), s.Ref, cmd)
	if err != nil || got.ExitCode != 4 || string(got.Stdout) != "out\n" || got.TimedOut {
		t.Errorf("Exec = %+v, %v; want 4, out", got, err)
	}
}

func TestABrokenStandardInputIsNotTakenForItsEnd(t *testing.T) {
	_, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	broken := errors.New("the disk is gone")
	cmd := sh("cat > copied")
	cmd.Stdin = io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))
	if _, err := a.Exec(t.Context(), s.Ref, cmd); !errors.Is(err, broken) {
		t.Errorf("Exec = %v, want %v", err, broken)
	}
}

func TestTheRouterIsReachedThroughItsFaults(t *testing.T) {
	server, a := opened(t, emulator.Options{NoSeededAccess: true}, "modal:")
	s := made(t, a)
	for method, fault := range map[string]emulator.Fault{
		"TaskExecStart":     {Code: codes.Unavailable, After: true, Times: 2},
		"TaskExecStdioRead": {Code: codes.Unavailable, Times: 2},
		"TaskExecWait":      {Code: codes.Unavailable},
	} {
		server.Fail(method, fault)
		got, err := a.Exec(t.Context(), s.Ref, sh("echo x >> runs; cat runs"))
		if err != nil || got.ExitCode != 0 || !strings.HasSuffix(string(got.Stdout), "x\n") {
			t.Errorf("%s: %+v, %v", method, got, err)
		}
	}
	var runs bytes.Buffer
	if _, err := a.ReadFile(t.Context(), s.Ref, "/workspace/runs", 100, &runs); err != nil || runs.String() != "x\nx\nx\n" {
		t.Errorf("the commands ran %q, %v; want each once", runs.String(), err)
	}
}

func TestARouterThatFailsDoesNotMeanThatTheSandboxIsGone(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	for _, code := range []codes.Code{codes.NotFound, codes.FailedPrecondition, codes.PermissionDenied} {
		server.Fail("TaskExecStart", emulator.Fault{Code: code, Times: -1})
		for what, use := range map[string]func() error{
			"Exec":          func() error { _, err := a.Exec(t.Context(), s.Ref, sh("true")); return err },
			"ReadFile":      func() error { _, err := a.ReadFile(t.Context(), s.Ref, "/x", 1, io.Discard); return err },
			"WriteFile":     func() error { return a.WriteFile(t.Context(), s.Ref, "/workspace/x", strings.NewReader("x")) },
			"ListDirectory": func() error { _, err := a.ListDirectory(t.Context(), s.Ref, "/workspace"); return err },
		} {
			err := use()
			if err == nil || errors.Is(err, backend.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || !hasClass(err) {
				t.Errorf("%s, %s: %v; want a class, but not absence", what, code, err)
			}
		}
		server.Heal()
	}
}

func TestAFileIsReadNoFurtherThanItsLimit(t *testing.T) {
	_, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	var into bytes.Buffer
	_, err := a.ReadFile(t.Context(), s.Ref, "/dev/zero", 10, &into)
	wantClass(t, err, backend.ErrInvalid)
	if _, err := a.Exec(t.Context(), s.Ref, sh("yes | head -c 100000 > long")); err != nil {
		t.Fatal(err)
	}
	_, err = a.ReadFile(t.Context(), s.Ref, "/workspace/long", 10, &into)
	wantClass(t, err, backend.ErrTooLarge)
	if into.Len() > 10 {
		t.Errorf("%d bytes were written", into.Len())
	}
}

func TestACommandThatTheRouterDoesNotStartIsGivenUpWithinSeconds(t *testing.T) {
	for generation, g := range generations {
		t.Run(generation, func(t *testing.T) {
			t.Setenv("MODAL_SANDBOX_V2", g.variable)
			server, a := opened(t, emulator.Options{}, "modal:")
			s := made(t, a)
			server.Fail("TaskExecStart", emulator.Fault{Stall: true, Times: -1})
			a.startWithin = 300 * time.Millisecond
			begun := clock.System().Now()
			_, err := a.Exec(t.Context(), s.Ref, sh("true"))
			wantClass(t, err, backend.ErrUnknownOutcome, "did not answer within 300ms", s.Handle)
			if took := clock.System().Now().Sub(begun); took > 10*time.Second {
				t.Errorf("gave up after %s", took)
			}
			server.Heal()
			a.startWithin = startWithin
			if got, err := a.Exec(t.Context(), s.Ref, sh("true")); err != nil || got.ExitCode != 0 {
				t.Errorf("afterwards: %+v, %v", got, err)
			}
		})
	}
	if startWithin > time.Minute {
		t.Errorf("outside of tests it takes %s", startWithin)
	}
}

// A clock of ours that is ahead makes no command shorter.
func TestACommandRunsForItsTimeWhateverOurClockSays(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	ours := clock.NewFake(server.Now().Add(2 * time.Hour)) // past its end
	a.clock = ours
	if got, err := a.Exec(t.Context(), s.Ref, sh("sleep 1.5; echo done")); err != nil || string(got.Stdout) != "done\n" || got.AppliedTimeout != time.Minute {
		t.Errorf("Exec = %+v, %v; want it to run to its end", got, err)
	}
}

func TestInputThatIsLostOnTheWayIsNeverTakenForItsEnd(t *testing.T) {
	for name, test := range map[string]struct {
		size  int
		fault emulator.Fault
	}{
		"a part that another writer overtook": {3 * stdinChunk, emulator.Fault{Code: codes.Aborted, Skip: 1}},
		"a part that may not be written":      {3 * stdinChunk, emulator.Fault{Code: codes.PermissionDenied, Skip: 1}},
		"the end":                             {1, emulator.Fault{Code: codes.DataLoss, Skip: 1, Times: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			server, a := opened(t, emulator.Options{}, "modal:")
			s := made(t, a)
			server.Fail("TaskExecStdinWrite", test.fault)
			cmd := sh("wc -c")
			cmd.Stdin = bytes.NewReader(make([]byte, test.size))
			begun := clock.System().Now()
			got, err := a.Exec(t.Context(), s.Ref, cmd)
			if took := clock.System().Now().Sub(begun); !errors.Is(err, backend.ErrUnknownOutcome) || took > 20*time.Second {
				t.Errorf("of %d bytes it counted %q, timed out %t, %v, after %s; want an unknown outcome", test.size, got.Stdout, got.TimedOut, err, took)
			}
		})
	}
}
