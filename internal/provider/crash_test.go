// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// killedAtEveryStep makes one run with the given command, and for each call
// that it makes two more: one in which the provider is killed before the call
// takes effect, one in which it is killed after. Each time, ready sets the stage
// and again runs again what was killed.
func (ws *workspace) killedAtEveryStep(command string, ready, again func(step string)) {
	ws.t.Helper()
	ready("")
	ws.traced()
	ws.must(command, "-auto-approve")
	verbs := ws.traced()
	again("")
	for i, verb := range verbs {
		for _, effect := range []string{"", "+"} {
			step := verb + effect
			ready(step)
			ws.traced()
			out, code := ws.terraform([]string{fmt.Sprintf("%s=%d%s", killAtVariable, i+1, effect)}, command, "-auto-approve")
			if code == 0 {
				ws.t.Fatalf("killed at call %d, %s, but Terraform was content:\n%s", i+1, step, out)
			}
			again(step)
		}
	}
}

// A provider that is killed right after a sandbox came to be cannot tell
// Terraform of it. Such a sandbox carries all by which the janitor reclaims it.
func TestProviderKilledAtEveryStepOfACreateEndsCleanWhenRunAgain(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(w.instance())
	ws.killedAtEveryStep("apply", func(string) {}, func(step string) {
		ws.apply()
		ws.quiet()
		ws.must("destroy", "-auto-approve")
		for _, left := range w.sandboxes() {
			if step != "create+" {
				t.Errorf("killed at %s, which made nothing, but %s is left", step, left.Handle)
			}
			if _, err := airflow.ParseExpiry(left.Tags[airflow.TagExpiresAt]); err != nil ||
				left.Tags[sandbox.TagManagedBy] != sandbox.ManagedByTerraform || left.Tags[sandbox.TagAttempt] == "" {
				t.Errorf("killed at %s: the janitor cannot tell %s by its tags %v", step, left.Handle, left.Tags)
			}
			if err := w.backend().Destroy(t.Context(), left.Ref); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestProviderKilledAtEveryStepOfAnUpdateEndsCleanWhenRunAgain(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(w.instance())
	ws.apply()
	made, run := w.only().Handle, 0
	ws.killedAtEveryStep("apply", func(string) {
		run++ // each time another owner, another policy, and a longer life
		ws.configure(strings.ReplaceAll(w.instance(
			fmt.Sprintf(`owner = "terraform:%d"`, run), fmt.Sprintf(`network_policy = { block_network = %t }`, run%2 == 0),
		), `"1h"`, fmt.Sprintf(`"%dh"`, run+1)))
	}, func(step string) {
		ws.apply()
		ws.quiet()
		if got := w.only(); got.Handle != made || got.Tags[airflow.TagOwner] != fmt.Sprintf("terraform:%d", run) {
			t.Fatalf("killed at %s: %s has the tags %v", step, got.Handle, got.Tags)
		}
	})
}

func TestProviderKilledAtEveryStepOfADestroyEndsCleanWhenRunAgain(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(w.instance())
	ws.killedAtEveryStep("destroy", func(string) { ws.apply() }, func(step string) {
		ws.must("destroy", "-auto-approve")
		if left := w.sandboxes(); len(left) > 0 {
			t.Fatalf("killed at %s: %v is left", step, left)
		}
	})
}

func TestInterruptedCreateLeavesNothing(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(w.instance())
	apply := ws.hanging("create", "apply", "-auto-approve")
	apply.signal(syscall.SIGINT)
	if said, code := apply.end(); code == 0 || !strings.Contains(said, "was not created") {
		t.Fatalf("exit %d:\n%s", code, said)
	}
	ws.startsAnew()
}

// Terraform is killed, and its provider lives on until the call it was in is
// cleared up.
func TestTerraformKilledDuringACreateLeavesNothing(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(w.instance())
	apply := ws.hanging("create", "apply", "-auto-approve")
	apply.signal(syscall.SIGKILL)
	apply.until("delete")
	apply.end()
	ws.startsAnew()
}

// startsAnew demands that nothing is left, and that a new run works.
func (ws *workspace) startsAnew() {
	ws.t.Helper()
	if left := ws.sandboxes(); len(left) > 0 {
		ws.t.Errorf("%v is left", left)
	}
	ws.apply()
	ws.quiet()
	ws.must("destroy", "-auto-approve")
}

// hanging is a run of Terraform whose provider hangs in one call.
type hanging struct {
	t     *testing.T
	cmd   *exec.Cmd
	said  strings.Builder
	trace *os.File
	lines *bufio.Scanner
}

// hanging starts the command and returns when its provider hangs after the
// effect of the call verb. The trace is a pipe, so that nobody has to poll it.
func (ws *workspace) hanging(verb string, args ...string) *hanging {
	ws.t.Helper()
	ws.traced()
	if err := syscall.Mkfifo(ws.traceFile(), 0o600); err != nil {
		ws.t.Fatal(err)
	}
	pipe, err := os.OpenFile(ws.traceFile(), os.O_RDWR, 0)
	if err != nil {
		ws.t.Fatal(err)
	}
	h := &hanging{t: ws.t, cmd: ws.command([]string{hangAtVariable + "=" + verb}, append(args, "-no-color")...),
		trace: pipe, lines: bufio.NewScanner(pipe)}
	h.cmd.Stdout, h.cmd.Stderr = &h.said, &h.said
	if err := h.cmd.Start(); err != nil {
		ws.t.Fatal(err)
	}
	h.until("hangs")
	return h
}

// until returns when the trace says line.
func (h *hanging) until(line string) {
	h.t.Helper()
	for h.lines.Scan() {
		if h.lines.Text() == line {
			return
		}
	}
	h.t.Fatalf("the trace ended before it said %q: %v", line, h.lines.Err())
}

func (h *hanging) signal(s syscall.Signal) {
	h.t.Helper()
	if err := h.cmd.Process.Signal(s); err != nil {
		h.t.Fatal(err)
	}
}

// end waits for the command, and returns what it said and its exit code.
func (h *hanging) end() (said string, code int) {
	h.t.Helper()
	_ = h.cmd.Wait()
	if err := errors.Join(h.trace.Close(), os.Remove(h.trace.Name())); err != nil {
		h.t.Fatal(err)
	}
	return h.said.String(), h.cmd.ProcessState.ExitCode()
}
