// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
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

// strays are all but the sandbox of the state. Each must be judged as the
// janitor should; then it is cleared away.
func (ws *workspace) strays(call, handle string, judged func(call string, s sandbox.Sandbox)) (count int) {
	ws.t.Helper()
	for _, s := range ws.sandboxes() {
		if s.Handle == handle {
			if retired(s) || s.Tags[sandbox.TagTeardownAt] != "" {
				ws.t.Errorf("killed at %s: the sandbox of the state has the tags %v", call, s.Tags)
			}
			continue
		}
		count++
		judged(call, s)
		ws.destroy(s.Ref)
	}
	return count
}

// condemned verifies that the janitor takes s once it is past its end.
func (ws *workspace) condemned(call string, s sandbox.Sandbox) {
	ws.t.Helper()
	if v := judge(s, s.ServerEnds.Add(2*time.Hour)); v.Outcome != verdict.Condemned {
		ws.t.Errorf("killed at %s: the janitor judges %s, with the tags %v, %+v", call, s.Handle, s.Tags, v)
	}
}

// suspected verifies that the janitor need not wait for the end of s.
func (ws *workspace) suspected(call string, s sandbox.Sandbox) {
	ws.t.Helper()
	if v := judge(s, clock.System().Now()); v.Outcome != verdict.Suspected || v.Reason != "retired" {
		ws.t.Errorf("killed at %s: the janitor judges %s, with the tags %v, %+v", call, s.Handle, s.Tags, v)
	}
}

func judge(s sandbox.Sandbox, now time.Time) verdict.Verdict {
	facts := verdict.Facts{Now: now, LastLook: now.Add(-10 * time.Minute), Complete: true, ServerEnds: true}
	return verdict.Judge(verdict.Subject{Sandbox: &s}, &facts, verdict.Policy{})
}

// inBothGenerations runs a test with a V2 and with a V1 sandbox, whose calls
// differ; only the first generation has GPUs.
func inBothGenerations(t *testing.T, test func(w *world, generation string)) {
	t.Parallel()
	for name, attribute := range map[string]string{"V1": `gpu = "T4"`, "V2": ""} {
		t.Run(name, func(t *testing.T) { test(newModalWorld(t), attribute) })
	}
}

func TestProviderKilledAtEveryCallOfACreateOnModalLeavesWhatTheJanitorFinds(t *testing.T) {
	inBothGenerations(t, func(w *world, generation string) {
		ws := w.workspace(w.instance(`owner = "terraform:a"`, generation))
		left := 0
		ws.killedAtEveryCall("apply", func() {}, func(call string) {
			ws.apply()
			ws.quiet()
			ws.must("destroy", "-auto-approve")
			left += ws.strays(call, "", ws.condemned)
		})
		if left == 0 {
			w.t.Error("no kill left anything, so none came between the call and its answer")
		}
	})
}

func TestProviderKilledAtEveryCallOfARotationLeavesWhatTheJanitorFindsSoon(t *testing.T) {
	inBothGenerations(t, func(w *world, generation string) {
		ws := w.workspace(w.renewed(generation))
		ws.apply()
		ws.killedAtEveryCall("apply", func() {
			ws.strays("nothing", ws.handle(), ws.suspected)
			w.ending(10 * time.Minute)()
		}, func(call string) {
			ws.apply()
			ws.quiet()
			if ws.strays(call, ws.handle(), ws.suspected) == 0 {
				w.t.Errorf("killed at %s: nothing was rotated", call)
			}
			w.standing()
		})
	})
}

// renewed is a sandbox that lives on after the moment of its renewal.
func (w *world) renewed(attributes ...string) string {
	return strings.Replace(w.instance(append(attributes, `owner = "terraform:a"`, `renew_before = "20m"`)...), `"1h"`, `"3h"`, 1)
}

// stray makes one rotation that is killed, and returns the handle of what it made.
func (ws *workspace) stray() (handle string) {
	ws.t.Helper()
	ws.ending(10 * time.Minute)()
	if out, code := ws.terraform([]string{killAtVariable + "=SandboxCreateV2+"}, "apply", "-auto-approve"); code == 0 {
		ws.t.Fatalf("Terraform was content:\n%s", out)
	}
	for _, s := range ws.sandboxes() {
		if s.Handle != ws.handle() {
			return s.Handle
		}
	}
	ws.t.Fatal("the rotation has made nothing")
	return ""
}

func TestSandboxThatAKilledRotationHasMadeIsTakenOverAsThePlanSaysWhenTheOldOneIsGone(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.renewed())
	ws.apply()
	stray, old := ws.stray(), ws.handle()
	for _, s := range ws.sandboxes() {
		if s.Handle == old {
			ws.destroy(s.Ref)
		}
	}
	id := w.uri() + "#" + stray
	if said := ws.must("plan"); !words("terraform import ADDRESS '" + id + "'").MatchString(said) {
		t.Fatalf("the plan does not tell how to import %s:\n%s", id, said)
	}
	ws.must("apply", "-auto-approve", "-refresh-only")
	ws.must("import", it, id)
	ws.apply()
	ws.quiet()
	if now := w.only().Handle; now != stray || ws.handle() != stray {
		t.Errorf("%s stands, and the state has %s; want %s", now, ws.handle(), stray)
	}
	ws.must("destroy", "-auto-approve")
}

func TestSandboxThatAKilledRotationHasMadeIsNamedByThePlanAndRetiredByADestroy(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.renewed())
	ws.apply()
	stray := ws.stray()
	if said := ws.must("plan"); !words("Sandbox " + stray + " was made to take the place of " + ws.handle()).MatchString(said) {
		t.Errorf("the plan does not name %q:\n%s", stray, said)
	}
	ws.must("destroy", "-auto-approve")
	if left := w.only(); left.Handle != stray || !retired(left) {
		t.Errorf("%s is left, with the tags %v", left.Handle, left.Tags)
	}
}

func TestProviderKilledAtEveryCallOfADestroyOnModalEndsCleanWhenRunAgain(t *testing.T) {
	inBothGenerations(t, func(w *world, generation string) {
		ws := w.workspace(w.instance(`owner = "terraform:a"`, generation))
		left := 0
		ws.killedAtEveryCall("destroy", func() { ws.apply() }, func(call string) {
			for _, s := range ws.sandboxes() { // as if nobody ran it again
				left++
				ws.condemned(call, s)
			}
			ws.must("destroy", "-auto-approve")
			if left := ws.sandboxes(); len(left) > 0 {
				w.t.Fatalf("killed at %s: %v is left", call, left)
			}
		})
		if left == 0 {
			w.t.Error("no kill left anything, so none came before the end of the sandbox")
		}
	})
}
