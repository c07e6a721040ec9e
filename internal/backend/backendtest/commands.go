// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// everyByte is each byte value once, with the line ends in the middle.
var everyByte = func() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}()

// outcome is what is expected of a command.
type outcome struct {
	code           int
	stdout, stderr string
}

// run is one command and what it must end in.
type run struct {
	name string
	cmd  backend.Command
	want outcome
}

// runs are to be run in the working directory of one sandbox, in this order.
func runs() []run {
	return []run{
		{"exit code 0", backend.Command{Argv: []string{"true"}}, outcome{}},
		{"a command that fails is a result", backend.Command{Argv: []string{"sh", "-c", "exit 3"}}, outcome{code: 3}},
		{"the highest exit code", backend.Command{Argv: []string{"sh", "-c", "exit 255"}}, outcome{code: 255}},
		{"streams are kept apart", backend.Command{Argv: []string{"sh", "-c", "echo out; echo err >&2"}},
			outcome{stdout: "out\n", stderr: "err\n"}},
		{"the last line needs no end", backend.Command{Argv: []string{"printf", "a\nb"}}, outcome{stdout: "a\nb"}},
		{"arguments arrive byte for byte",
			backend.Command{Argv: []string{"sh", "-c", `for a; do printf '<%s>' "$a"; done`, "sh", "", "a b", "-x", "$HOME", "'\"\\", "line\nline", "ä箱", "\xff"}},
			outcome{stdout: "<><a b><-x><$HOME><'\"\\><line\nline><ä箱><\xff>"}},
		{"no standard input is an empty one", backend.Command{Argv: []string{"cat"}}, outcome{}},
		{"standard input arrives byte for byte", backend.Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(everyByte)},
			outcome{stdout: string(everyByte)}},
		{"standard input may be left unread",
			backend.Command{Argv: []string{"echo", "done"}, Stdin: bytes.NewReader(make([]byte, 1<<20))}, outcome{stdout: "done\n"}},
		{"much standard input arrives whole",
			backend.Command{Argv: []string{"sh", "-c", "wc -c | tr -d ' '"}, Stdin: bytes.NewReader(make([]byte, 1<<20))}, outcome{stdout: "1048576\n"}},
		{"environment arrives byte for byte",
			backend.Command{Argv: []string{"sh", "-c", `printf '%s|%s|%s' "$A" "$B" "$EMPTY"`}, Env: map[string]string{"A": "x y", "B": "$A 'q' \n=ä", "EMPTY": ""}},
			outcome{stdout: "x y|$A 'q' \n=ä|"}},
		{"the sandbox's environment is there", backend.Command{Argv: []string{"sh", "-c", `printf %s "$STAGE"`}}, outcome{stdout: "test"}},
		{"the command's environment wins", backend.Command{Argv: []string{"sh", "-c", `printf %s "$STAGE"`}, Env: map[string]string{"STAGE": "other"}},
			outcome{stdout: "other"}},
		{"the caller's environment does not leak", backend.Command{Argv: []string{"sh", "-c", `printf %s "$TASKOWNED_CANARY"`}}, outcome{}},
		{"files stay between commands", backend.Command{Argv: []string{"sh", "-c", "mkdir -p kept && echo here > kept/file"}}, outcome{}},
		{"commands start in the working directory", backend.Command{Argv: []string{"cat", "kept/file"}}, outcome{stdout: "here\n"}},
	}
}

func testCommands(t *testing.T, p *place) {
	canary(t)
	spec := p.spec()
	spec.Env = map[string]string{"STAGE": "test"}
	made := p.createFrom(t, p.request(spec, nil))

	for _, c := range runs() {
		t.Run(c.name, func(t *testing.T) {
			got := p.exec(t, made.Ref, c.cmd)
			if got.ExitCode != c.want.code || string(got.Stdout) != c.want.stdout || string(got.Stderr) != c.want.stderr {
				t.Errorf("exit code %d, stdout %q, stderr %q; want %d, %q, %q",
					got.ExitCode, got.Stdout, got.Stderr, c.want.code, c.want.stdout, c.want.stderr)
			}
			if got.TimedOut || got.Terminated || got.StdoutTruncated || got.StderrTruncated {
				t.Errorf("flags of %+v, want none", got)
			}
		})
	}
	t.Run("a signal is 128 and its number", func(t *testing.T) {
		got := p.exec(t, made.Ref, backend.Command{Argv: []string{"sh", "-c", "kill -9 $$"}})
		if got.ExitCode != 128+9 || got.TimedOut || got.Terminated {
			t.Errorf("exit code %d, timed out %v, terminated %v; want 137, false, false", got.ExitCode, got.TimedOut, got.Terminated)
		}
	})
	t.Run("a program that does not exist is exit code 127", func(t *testing.T) {
		for _, argv := range [][]string{{"no-such-program"}, {"/no/such/program", "x"}, {"sh", "-c", "no-such-program"}} {
			if got := p.exec(t, made.Ref, backend.Command{Argv: argv}); got.ExitCode != 127 {
				t.Errorf("%q: exit code %d, want 127", argv, got.ExitCode)
			}
		}
	})
	t.Run("a command can start elsewhere", func(t *testing.T) {
		got := p.exec(t, made.Ref, backend.Command{Argv: []string{"cat", "file"}, Dir: p.in("kept")})
		if string(got.Stdout) != "here\n" {
			t.Errorf("cat file in %s printed %q, stderr %q", p.in("kept"), got.Stdout, got.Stderr)
		}
	})
	t.Run("a command is not run where its directory is missing", func(t *testing.T) {
		got, err := p.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"echo", "ran"}, Dir: p.in("missing"), Timeout: commandTimeout})
		if err == nil && (got.ExitCode == 0 || len(got.Stdout) > 0) {
			t.Errorf("exit code %d, stdout %q; want a failure", got.ExitCode, got.Stdout)
		}
	})
	t.Run("a command without argv or timeout is invalid", func(t *testing.T) {
		for _, cmd := range []backend.Command{{Timeout: commandTimeout}, {Argv: []string{"true"}}, {Argv: []string{"true"}, Timeout: -time.Second}} {
			_, err := p.Exec(t.Context(), made.Ref, cmd)
			wantError(t, fmt.Sprintf("Exec(%q) within %s", cmd.Argv, cmd.Timeout), err, backend.ErrInvalid)
		}
	})
	t.Run("the tail of long output is kept and the cut is flagged", func(t *testing.T) { testLongOutput(t, p, made.Ref) })
	t.Run("the whole process tree ends at the timeout", func(t *testing.T) { testTimeout(t, p, made.Ref) })
	t.Run("the whole process tree ends when it is given up", func(t *testing.T) { testGivenUpCommand(t, p, made.Ref) })
	t.Run("a destroy ends what runs", func(t *testing.T) { testDestroyWhileRunning(t, p) })
	t.Run("output until the timeout is kept", func(t *testing.T) {
		got := p.exec(t, made.Ref, backend.Command{Argv: []string{"sh", "-c", "echo before; sleep 300"}, Timeout: 2 * time.Second})
		if !got.TimedOut || string(got.Stdout) != "before\n" {
			t.Errorf("timed out %v, stdout %q; want true, %q", got.TimedOut, got.Stdout, "before\n")
		}
	})
	t.Run("a timeout never outlasts the sandbox", func(t *testing.T) {
		got, err := p.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"true"}, Timeout: 1000 * time.Hour})
		if err != nil {
			wantError(t, "Exec", err, backend.ErrInvalid)
		} else if got.AppliedTimeout <= 0 || got.AppliedTimeout > spec.Lifetime+clockSkew {
			t.Errorf("applied timeout %s in a sandbox of %s", got.AppliedTimeout, spec.Lifetime)
		}
	})
}

// canary puts a variable into the environment of this process for good. It may be
// set by many at once: where a place is tested in many variants, they run in
// parallel, which t.Setenv rules out.
func canary(t *testing.T) {
	t.Helper()
	if err := os.Setenv("TASKOWNED_CANARY", "leaked"); err != nil { //nolint:usetesting // see above
		t.Fatal(err)
	}
}

func testLongOutput(t *testing.T, p *place, ref sandbox.Ref) {
	var long bytes.Buffer
	for i := 0; long.Len() < 200<<10; i++ {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	p.write(t, ref, p.in("long"), long.Bytes())
	for _, limit := range []int{0, 1000, 1} {
		kept := limit
		if limit == 0 {
			kept = backend.DefaultMaxOutput
		}
		got := p.exec(t, ref, backend.Command{Argv: []string{"sh", "-c", "cat long; cat long >&2"}, MaxOutput: limit})
		for stream, out := range map[string][]byte{"stdout": got.Stdout, "stderr": got.Stderr} {
			if len(out) > kept || len(out) < kept/2 || !bytes.HasSuffix(long.Bytes(), out) {
				t.Errorf("%s, %d bytes asked for: %d bytes kept, ending in %q; want at most the tail", stream, kept, len(out), out[max(0, len(out)-20):])
			}
		}
		if !got.StdoutTruncated || !got.StderrTruncated {
			t.Errorf("%d bytes asked for: truncated %v, %v; want both", kept, got.StdoutTruncated, got.StderrTruncated)
		}
	}
	got := p.exec(t, ref, backend.Command{Argv: []string{"cat", "long"}, MaxOutput: long.Len()})
	if got.StdoutTruncated || !bytes.Equal(got.Stdout, long.Bytes()) {
		t.Errorf("output of exactly the limit: truncated %v, %d bytes of %d", got.StdoutTruncated, len(got.Stdout), long.Len())
	}
}

// stubborn starts a process in the background that writes on as long as it
// lives: detached from its parents, in a session of its own where the image can
// make one, deaf to what can be ignored. It ends with its directory, so that a
// backend that leaves it leaves it for no longer.
const stubborn = `
beat='trap "" HUP INT TERM; while echo x >> beat; do sleep 0.1; done'
session=$(command -v setsid || true)
( $session sh -c "$beat" < /dev/null > /dev/null 2>&1 & )
while [ ! -s beat ]; do sleep 0.1; done
trap "" HUP INT TERM
echo started
while [ -e beat ]; do sleep 1; done`

func testTimeout(t *testing.T, p *place, ref sandbox.Ref) {
	const timeout = 2 * time.Second
	begun := clock.System().Now()
	got := p.exec(t, ref, backend.Command{Argv: []string{"sh", "-c", stubborn}, Timeout: timeout})
	took := clock.System().Now().Sub(begun)

	if !got.TimedOut || got.ExitCode != -1 || !strings.HasPrefix(string(got.Stdout), "started") {
		t.Errorf("timed out %v, exit code %d, stdout %q; want true, -1, started", got.TimedOut, got.ExitCode, got.Stdout)
	}
	if took < timeout || took > timeout+slack {
		t.Errorf("took %s, want %s and at most %s more", took, timeout, slack)
	}
	if got.Terminated {
		t.Fatal("the sandbox did not outlive the command")
	}
	p.wantStill(t, ref)
}

// wantStill fails when anything that stubborn started still writes.
func (p *place) wantStill(t *testing.T, ref sandbox.Ref) {
	t.Helper()
	const size = "wc -c < beat"
	if first, second := p.sh(t, ref, size), p.sh(t, ref, "sleep 1; "+size); first != second {
		t.Errorf("a process of the tree still writes: %s bytes, then %s", strings.TrimSpace(first), strings.TrimSpace(second))
	}
}

// testGivenUpCommand gives a command up while it runs.
func testGivenUpCommand(t *testing.T, p *place, ref sandbox.Ref) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	got, err := p.Exec(ctx, ref, backend.Command{Argv: []string{"sh", "-c", stubborn}, Timeout: 10 * commandTimeout})
	if err == nil {
		t.Errorf("Exec = %+v, want an error", got)
	}
	if p.OutlivesCaller {
		t.Skip("the vendor has no call that ends a command before its timeout")
	}
	p.wantStill(t, ref)
}

// testDestroyWhileRunning destroys a sandbox in which a command runs.
func testDestroyWhileRunning(t *testing.T, p *place) {
	ref := p.create(t, nil).Ref
	ended := make(chan error, 1)
	go func() {
		defer close(ended)
		got, err := p.Exec(t.Context(), ref, backend.Command{Argv: []string{"sh", "-c", ": > begun; sleep 300"}, Timeout: 10 * commandTimeout})
		if err == nil && !got.Terminated {
			ended <- fmt.Errorf("the command ended in %+v, want an error or a terminated sandbox", got)
		}
	}()
	if !p.eventually(t, func() bool { _, err := p.ReadFile(t.Context(), ref, p.in("begun"), 1, io.Discard); return err == nil }) {
		t.Error("the command does not begin")
	}
	p.gone(t, ref)
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(p.settleTime()):
		t.Error("the command still runs")
	}
}
