// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

const (
	runA = "etl/manual__a"
	runB = "etl/manual__b"
)

// dialogue runs the program on a terminal, calls meanwhile while its question
// stands, types answer, and returns what it printed and its exit status.
func dialogue(t *testing.T, answer string, meanwhile func(), args ...string) (printed string, status int) {
	t.Helper()
	self, err := exec.LookPath("sandbox") // put on PATH by testscript.Main
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var screen strings.Builder
	for !strings.HasSuffix(screen.String(), "is a yes: ") {
		if _, err := io.CopyN(&screen, terminal, 1); err != nil {
			t.Fatalf("no question came: %v; printed:\n%s", err, screen.String())
		}
	}
	meanwhile()
	if _, err := terminal.WriteString(answer + "\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(&screen, terminal) // ends with EIO when the program closes its side
	_ = cmd.Wait()
	return screen.String(), cmd.ProcessState.ExitCode()
}

// stage is a place with one sandbox in it.
type stage struct {
	t   *testing.T
	uri string
	ref sandbox.Ref
	backend.Backend
}

func newStage(t *testing.T, pairs ...string) stage {
	t.Helper()
	uri := "local://" + filepath.Join(publicDir(t), "state")
	made, err := create(t.Context(), uri, pairs...)
	if err != nil {
		t.Fatal(err)
	}
	b, err := reach(uri)
	if err != nil {
		t.Fatal(err)
	}
	return stage{t, uri, made.Ref, b}
}

func (s stage) tag(pair string) func() {
	return func() {
		if err := retag(s.t.Context(), s.uri, s.ref.Handle, pair); err != nil {
			s.t.Error(err)
		}
	}
}

func (s stage) holder() string {
	found, err := s.Get(s.t.Context(), s.ref)
	if err != nil {
		s.t.Fatal(err)
	}
	return airflow.Holder(found.Tags)
}

func nothing() {}

func TestReleaseAsksAndReleasesOnYes(t *testing.T) {
	s := newStage(t, airflow.TagHolder+"="+runA+"/load")
	printed, status := dialogue(t, "yes", nothing, "release", s.uri, s.ref.Handle)
	if status != 0 || s.holder() != "" {
		t.Errorf("status %d, holder %q:\n%s", status, s.holder(), printed)
	}
	if !strings.Contains(printed, "task load of run manual__a of Dag etl") {
		t.Errorf("the question does not name the task:\n%s", printed)
	}
}

func TestAnythingButYesChangesNothing(t *testing.T) {
	s := newStage(t, airflow.TagHolder+"="+runA+"/load")
	for _, answer := range []string{"", "n", "y", "yep"} {
		if printed, status := dialogue(t, answer, nothing, "release", s.uri, s.ref.Handle); status != cli.ExitFailed || s.holder() == "" {
			t.Errorf("release, %q: status %d, holder %q:\n%s", answer, status, s.holder(), printed)
		}
		if printed, status := dialogue(t, answer, nothing, "rm", "--force", s.uri, s.ref.Handle); status != cli.ExitFailed || s.holder() == "" {
			t.Errorf("rm, %q: status %d:\n%s", answer, status, printed)
		}
	}
}

func TestReleaseRefusesWhenTheHolderChangedMeanwhile(t *testing.T) {
	s := newStage(t, airflow.TagHolder+"="+runA+"/load")
	printed, status := dialogue(t, "yes", s.tag(airflow.TagHolder+"="+runB+"/load"), "release", s.uri, s.ref.Handle)
	if status != cli.ExitFailed || s.holder() != runB+"/load" {
		t.Errorf("status %d, holder %q:\n%s", status, s.holder(), printed)
	}
	if !strings.Contains(printed, runA+"/load") || !strings.Contains(printed, runB+"/load") {
		t.Errorf("the error does not name both holders:\n%s", printed)
	}
}

func TestRmSparesWhatWasClaimedMeanwhile(t *testing.T) {
	s := newStage(t)
	printed, status := dialogue(t, "yes", s.tag(airflow.TagHolder+"="+runB+"/load"), "rm", s.uri, s.ref.Handle)
	if status != cli.ExitFailed || s.holder() != runB+"/load" {
		t.Errorf("status %d, holder %q:\n%s", status, s.holder(), printed)
	}
}

func TestRmTellsThatTerraformWillMakeItAgain(t *testing.T) {
	s := newStage(t, sandbox.TagManagedBy+"="+sandbox.ManagedByTerraform)
	printed, status := dialogue(t, "yes", nothing, "rm", s.uri, s.ref.Handle)
	if status != 0 || !strings.Contains(printed, "managed by Terraform") {
		t.Errorf("status %d:\n%s", status, printed)
	}
	if _, err := s.Get(t.Context(), s.ref); err == nil {
		t.Error("the sandbox is still there")
	}
}

func TestNobodyIsAskedWithoutATerminal(t *testing.T) {
	s := newStage(t)
	cmd := exec.Command("sandbox", "rm", s.uri, s.ref.Handle)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd.Stdin = null
	printed, _ := cmd.CombinedOutput()
	if status := cmd.ProcessState.ExitCode(); status != cli.ExitUsage || !strings.Contains(string(printed), "--auto-approve") {
		t.Errorf("status %d:\n%s", status, printed)
	}
	if _, err := s.Get(t.Context(), s.ref); err != nil {
		t.Errorf("the sandbox is gone: %v", err)
	}
}

func TestSignalIsStatus130Or143(t *testing.T) {
	for signal, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143} {
		if status := newStage(t).interrupted(signal); status != want {
			t.Errorf("%s: status %d, want %d", signal, status, want)
		}
	}
}

// interrupted sends signal to an exec in progress and returns its exit status.
func (s stage) interrupted(signal os.Signal) int {
	t := s.t
	cmd := exec.Command("sandbox", "exec", s.uri, s.ref.Handle, "--", "sh", "-c", "echo begun > begun; sleep 60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := s.ReadFile(t.Context(), s.ref, sandbox.DefaultWorkdir+"/begun", 100, io.Discard); err == nil {
			break
		}
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return cmd.ProcessState.ExitCode()
}
