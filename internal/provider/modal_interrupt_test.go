// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
)

// interrupted runs the command, interrupts it while its provider waits for the
// answer to the call verb, which has taken effect, and returns what it said.
func (ws *workspace) interrupted(verb string, args ...string) (said string) {
	ws.t.Helper()
	run := ws.hanging(verb, append(args, "-auto-approve")...)
	run.signal(syscall.SIGINT)
	said, code := run.end()
	if code == 0 {
		ws.t.Fatalf("Terraform was content:\n%s", said)
	}
	return said
}

func TestInterruptedCreateOnModalLeavesNothing(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	if said := ws.interrupted("SandboxCreateV2", "apply"); !strings.Contains(said, "was not created") {
		t.Fatal(said)
	}
	ws.startsAnew()
}

func TestInterruptedRotationLeavesTheOldSandboxAsItWas(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.renewed())
	ws.apply()
	w.ending(10 * time.Minute)()
	before := w.only()
	if said := ws.interrupted("SandboxCreateV2", "apply"); !words("was not renewed; it stands as it was").MatchString(said) {
		t.Fatal(said)
	}
	w.unchanged(before)
	ws.apply()
	ws.quiet()
	if now := w.standing(); now.Handle != ws.handle() || now.Handle == before.Handle {
		t.Errorf("%s stands, and the state has %s", now.Handle, ws.handle())
	}
}

func TestInterruptedClaimIsTakenBack(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	ws.apply()
	before := w.only()
	if said := ws.interrupted("SandboxTagsSetV2", "destroy"); !strings.Contains(said, "was not destroyed") {
		t.Fatal(said)
	}
	w.unchanged(before)
	ws.quiet()
}

func TestInterruptedDestroyOfWhatIsGoneForgetsIt(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	ws.apply()
	ws.interrupted("SandboxTerminateV2", "destroy")
	if left := ws.must("state", "list"); strings.Contains(left, it) {
		t.Errorf("the state has %s", left)
	}
	ws.startsAnew()
}

func TestInterruptedUpdateIsTrueInTheState(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	ws.apply()
	ws.configure(w.instance(`owner = "terraform:b"`))
	if said := ws.interrupted("SandboxTagsSetV2", "apply"); !words("was not wholly updated").MatchString(said) {
		t.Fatal(said)
	}
	ws.quiet() // the write has taken effect, and the next look sees it
	if owner := w.only().Tags[airflow.TagOwner]; owner != "terraform:b" {
		t.Errorf("the owner is %q", owner)
	}
}

// A second interrupt makes Terraform kill the provider, which cannot clear up then.
func TestSecondInterruptOfACreateLeavesWhatTheJanitorFinds(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	run := ws.hanging("SandboxCreateV2", "apply", "-auto-approve")
	heal := w.unanswered("SandboxListV2", false)
	run.signal(syscall.SIGINT)
	run.until("SandboxListV2") // it looks for what it has made
	run.signal(syscall.SIGINT)
	said, code := run.end()
	heal()
	if code == 0 || !strings.Contains(said, "Two interrupts received") {
		t.Fatalf("exit %d:\n%s", code, said)
	}
	left := w.only()
	ws.apply()
	ws.quiet()
	ws.must("destroy", "-auto-approve")
	if now := w.only(); now.Handle != left.Handle {
		t.Errorf("%s is left, and not %s", now.Handle, left.Handle)
	}
	ws.condemned("SandboxCreateV2", left)
}

// Terraform is killed, and its provider lives on until what it was making is ended.
func TestTerraformKilledDuringARotationLeavesTheOldSandboxAsItWas(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.renewed())
	ws.apply()
	w.ending(10 * time.Minute)()
	before := w.only()
	run := ws.hanging("SandboxCreateV2", "apply", "-auto-approve")
	run.signal(syscall.SIGKILL)
	run.until("SandboxTerminateV2")
	run.end()
	ws.apply()
	ws.quiet()
	for _, s := range w.sandboxes() {
		switch s.Handle {
		case before.Handle:
			if !retired(s) {
				t.Errorf("the old one has the tags %v", s.Tags)
			}
		case ws.handle():
		default:
			t.Errorf("%s is left, with the tags %v", s.Handle, s.Tags)
		}
	}
}
