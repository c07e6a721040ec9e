// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// killedAtEveryCall makes one run with the given command for each call that its
// provider makes after the plan, and kills the provider once that call has taken
// effect: what a kill before the call leaves, the one before it has shown. Each
// time, ready sets the stage and again runs again what was killed.
func (ws *workspace) killedAtEveryCall(command string, ready func(), again func(call string)) {
	ws.t.Helper()
	ready()
	plan := []string{"plan"}
	if command == "destroy" {
		plan = append(plan, "-destroy")
	}
	ws.traced()
	ws.must(plan...)
	planning := len(ws.traced())
	killed := 0
	for number := planning + 1; ; number++ {
		if number > planning+1 {
			ready()
		}
		ws.traced()
		out, code := ws.terraform([]string{fmt.Sprintf("%s=%d+", killAtVariable, number)}, command, "-auto-approve")
		calls := ws.traced()
		if code == 0 {
			break
		}
		if len(calls) != number {
			ws.t.Fatalf("killed at call %d, but %v were made:\n%s", number, calls, out)
		}
		killed++
		again(fmt.Sprintf("call %d, %s", number, calls[number-1]))
	}
	if killed < 5 {
		ws.t.Errorf("killed at %d calls only", killed)
	}
}

// strays are all but the sandbox of the state. Each must be one that the janitor
// condemns in its time; then it is cleared away.
func (ws *workspace) strays(call, handle string) (count int) {
	ws.t.Helper()
	for _, s := range ws.sandboxes() {
		if s.Handle == handle {
			if retired(s) || s.Tags[sandbox.TagTeardownAt] != "" {
				ws.t.Errorf("killed at %s: the sandbox of the state has the tags %v", call, s.Tags)
			}
			continue
		}
		count++
		ws.condemned(call, s)
		ws.destroy(s.Ref)
	}
	return count
}

// condemned verifies that the janitor condemns s in its time.
func (ws *workspace) condemned(call string, s sandbox.Sandbox) {
	ws.t.Helper()
	now := s.ServerEnds.Add(2 * time.Hour)
	facts := verdict.Facts{Now: now, LastLook: now.Add(-10 * time.Minute), Complete: true, ServerEnds: true}
	if v := verdict.Judge(verdict.Subject{Sandbox: &s}, &facts, verdict.Policy{}); v.Outcome != verdict.Condemned {
		ws.t.Errorf("killed at %s: the janitor judges %s, with the tags %v, %+v", call, s.Handle, s.Tags, v)
	}
}

const handleOutput = "\noutput \"handle\" { value = sandbox_instance.it.handle }\n"

func TestProviderKilledAtEveryCallOfACreateOnModalLeavesWhatTheJanitorFinds(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	left := 0
	ws.killedAtEveryCall("apply", func() {}, func(call string) {
		ws.apply()
		ws.quiet()
		ws.must("destroy", "-auto-approve")
		left += ws.strays(call, "")
	})
	if left == 0 {
		t.Error("no kill left anything, so none came between the call and its answer")
	}
}

func TestProviderKilledAtEveryCallOfARotationLeavesWhatTheJanitorFinds(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`, `renew_before = "20m"`) + handleOutput)
	ws.apply()
	ws.killedAtEveryCall("apply", func() {
		ws.strays("nothing", ws.must("output", "-raw", "handle"))
		w.ending(10 * time.Minute)()
	}, func(call string) {
		ws.apply()
		ws.quiet()
		if ws.strays(call, ws.must("output", "-raw", "handle")) == 0 {
			t.Errorf("killed at %s: nothing was rotated", call)
		}
		w.standing()
	})
}

func TestProviderKilledAtEveryCallOfADestroyOnModalEndsCleanWhenRunAgain(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	left := 0
	ws.killedAtEveryCall("destroy", func() { ws.apply() }, func(call string) {
		for _, s := range ws.sandboxes() { // as if nobody ran it again
			left++
			ws.condemned(call, s)
		}
		ws.must("destroy", "-auto-approve")
		if left := ws.sandboxes(); len(left) > 0 {
			t.Fatalf("killed at %s: %v is left", call, left)
		}
	})
	if left == 0 {
		t.Error("no kill left anything, so none came before the end of the sandbox")
	}
}

func TestInterruptedCreateOnModalLeavesNothing(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	apply := ws.hanging("SandboxCreateV2", "apply", "-auto-approve")
	apply.signal(syscall.SIGINT)
	if said, code := apply.end(); code == 0 || !strings.Contains(said, "was not created") {
		t.Fatalf("exit %d:\n%s", code, said)
	}
	ws.startsAnew()
}
