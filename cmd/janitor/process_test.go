// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
)

func TestFirstSignalFinishesWhatIsInFlightSavesAndBeginsNothingNew(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		y := newYard(t, "")
		first := y.expired(t, janitor.DefaultPerConnection)
		rest := y.expired(t, 3)
		var destroying, release []func()
		for _, handle := range first {
			if err := y.age(handle, time.Hour); err != nil { // the oldest go first
				t.Fatal(err)
			}
			busy, free := y.occupy(t, handle)
			destroying, release = append(destroying, busy), append(release, free)
		}
		b := y.start(t, "sweep", "--auto-approve")
		for _, busy := range destroying {
			busy()
		}
		b.signal(t, sig)
		b.logs(t, "stopping; a second signal stops at once")
		for _, free := range release {
			free()
		}
		if status := b.wait(t); status != want {
			t.Errorf("%s: exit status %d, want %d\n%s", sig, status, want, &b.log)
		}
		for _, handle := range first {
			y.check(t, handle, false)
		}
		for _, handle := range rest {
			y.check(t, handle, true)
		}
		for _, text := range []string{"4 reclaimed, 3 postponed.", "Stopped before the end.", fmt.Sprintf(" exit %d\n", want)} {
			if !strings.Contains(b.out.String(), text) {
				t.Errorf("%s: does not say %q:\n%s", sig, text, &b.out)
			}
		}
		if out, status := y.run(t, "sweep", "--auto-approve"); status != 0 || !strings.Contains(out, "3 reclaimed. exit 0") {
			t.Errorf("%s: the next run exits %d:\n%s", sig, status, out)
		}
	}
}

func TestSecondSignalStopsAtOnceAndTheNextRunTakesItFromThere(t *testing.T) {
	y := newYard(t, "")
	handles := y.expired(t, 2)
	destroying, release := y.occupy(t, handles[0])
	b := y.start(t, "sweep", "--auto-approve")
	destroying()
	b.signal(t, syscall.SIGTERM)
	b.logs(t, "stopping")
	b.insist(t, syscall.SIGTERM)
	if status := b.wait(t); status != 143 {
		t.Errorf("exit status %d, want 143", status)
	}
	release()
	y.untilClean(t)
	for _, handle := range handles {
		y.check(t, handle, false)
	}
}

func TestKillAtAnyPointAndRunningAgainEndsTheSame(t *testing.T) {
	finished := false
	for step := 1; !finished; step++ {
		y := newYard(t, "grace: {orphaned_workspace: 1ms}")
		healthy, err := y.make()
		if err != nil {
			t.Fatal(err)
		}
		dead := y.expired(t, 2)
		if err := os.Mkdir(y.state, 0o700); err != nil {
			t.Fatal(err)
		}
		changed := watch(t, y.state, filepath.Join(y.dir, "sandboxes"), filepath.Join(y.dir, "trash"))
		b := y.start(t, "sweep", "--auto-approve")
		ended := make(chan struct{})
		go func() { // a run with fewer steps than this one is over by itself
			for line := range b.lines {
				b.log.WriteString(line + "\n")
			}
			close(ended)
		}()
		reached := make(chan struct{})
		go func() {
			for range step {
				if changed() != nil { // the test is over
					return
				}
			}
			close(reached)
		}()
		select {
		case <-reached:
			b.signal(t, syscall.SIGKILL)
			<-ended
		case <-ended:
		}
		finished = statusOf(t, b.cmd.Wait(), &b.out) == 0
		y.untilClean(t)
		y.check(t, healthy, true)
		for _, handle := range dead {
			y.check(t, handle, false)
		}
		for dir, want := range map[string]int{"sandboxes": 1, "trash": 0, "staging": 0} {
			if left, err := os.ReadDir(filepath.Join(y.dir, dir)); err != nil || len(left) != want {
				t.Errorf("left in %s are %v, %v; want %d", dir, left, err, want)
			}
		}
		if t.Failed() {
			t.Fatalf("killed at step %d", step)
		}
	}
}

func TestOfTwoJanitorsAtOnceOneIsBusyAndTouchesNothing(t *testing.T) {
	y := newYard(t, "")
	handles := y.expired(t, 2)
	destroying, release := y.occupy(t, handles[0])
	b := y.start(t, "sweep", "--auto-approve")
	destroying()
	if out, status := y.run(t, "sweep", "--auto-approve"); status != 75 || !strings.Contains(out, "Busy: the run") {
		t.Errorf("the second exits %d:\n%s", status, out)
	}
	if out, status := y.run(t, "retry", "lab#"+handles[1]); status != 75 {
		t.Errorf("retry meanwhile exits %d:\n%s", status, out)
	}
	if out, status := y.run(t, "plan"); status != 0 {
		t.Errorf("plan meanwhile exits %d:\n%s", status, out)
	}
	release()
	if status := b.wait(t); status != 0 {
		t.Errorf("the first exits %d:\n%s%s", status, &b.log, &b.out)
	}
	for _, handle := range handles {
		y.check(t, handle, false)
	}
}

func TestManyJanitorsAtOnceReclaimEachSandboxOnce(t *testing.T) {
	y := newYard(t, "")
	healthy, err := y.make()
	if err != nil {
		t.Fatal(err)
	}
	handles := y.expired(t, 10)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if out, status := y.run(t, "sweep", "--auto-approve"); status != 0 && status != 75 {
				t.Errorf("exit status %d:\n%s", status, out)
			}
		})
	}
	all.Wait()
	y.untilClean(t)
	journal, err := os.ReadFile(filepath.Join(y.state, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	y.check(t, healthy, true)
	for _, handle := range handles {
		y.check(t, handle, false)
		if n := strings.Count(string(journal), handle); n != 1 {
			t.Errorf("%s: %d lines in the journal, want one", handle, n)
		}
	}
}

func TestFullDiskDestroysNothingThatIsNotRemembered(t *testing.T) {
	y := newYard(t, "")
	handles := y.expired(t, 3)
	// A disk of one page: there is room for the claim, and none for the intents.
	if err := os.Mkdir(y.state, 0o700); err != nil {
		t.Fatal(err)
	}
	inside := []string{
		"bwrap", "--dev-bind", "/", "/", "--perms", "0700", "--size", "4096", "--tmpfs", y.state,
		"--", binary, "sweep", "--auto-approve", "--config", y.config,
	}
	cmd := exec.CommandContext(t.Context(), inside[0], inside[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	status := statusOf(t, cmd.Run(), &out)
	if status == 0 || !strings.Contains(out.String(), "no space left on device") {
		t.Errorf("exit status %d:\n%s", status, &out)
	}
	for _, handle := range handles {
		y.check(t, handle, true)
	}
}

func TestPanicIsToldAsABugAndExitsOne(t *testing.T) {
	errs, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	a := &app{in: os.Stdin, out: errs, errs: errs} // no clock: the first to ask it fails
	y := newYard(t, "")
	if status := a.execute([]string{"plan", "--config", y.config}); status != 1 {
		t.Errorf("exit status %d, want 1", status)
	}
	text, err := os.ReadFile(errs.Name())
	if err != nil || !strings.Contains(string(text), "this is a bug") || !strings.Contains(string(text), "goroutine") {
		t.Errorf("says %q, %v", text, err)
	}
}
