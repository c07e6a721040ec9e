// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// sleeper is a command that says in the file started that it runs.
var sleeper = backend.Command{Argv: []string{"sh", "-c", "echo x > started; sleep 300"}, Timeout: time.Minute}

// ended is how a command in the background ended.
type ended struct {
	result backend.Result
	err    error
}

// running starts sleeper and returns when it runs.
func running(t *testing.T, h *host, ref sandbox.Ref) <-chan ended {
	t.Helper()
	end := make(chan ended, 1)
	go func() {
		result, err := h.Exec(t.Context(), ref, sleeper)
		end <- ended{result, err}
	}()
	for tick := time.NewTicker(5 * time.Millisecond); ; {
		select {
		case e := <-end:
			t.Fatalf("it ended: %+v", e)
		case <-tick.C:
			if _, err := h.ReadFile(t.Context(), ref, "/workspace/started", 10, new(strings.Builder)); err == nil {
				tick.Stop()
				return end
			}
		}
	}
}

func TestDestroyEndsRunningCommandsOfOtherProcesses(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	first, second := running(t, h, made.Ref), running(t, h, made.Ref)
	other := newHost(h.dir, &backend.Caller{}, clock.System())
	must(t, other.Destroy(t.Context(), made.Ref))
	for _, end := range []<-chan ended{first, second} {
		if e := <-end; e.err != nil || !e.result.Terminated || e.result.TimedOut || e.result.ExitCode != -1 {
			t.Errorf("the command ended as %+v; want terminated, -1", e)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(h.dir, trashDir)); err != nil || len(entries) > 0 {
		t.Errorf("the trash holds %v, %v", entries, err)
	}
}

func TestWhileItsCommandIsStoppedASandboxIsStoppingAndRefusesOthers(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	hung := lockOf(t, h, made.Ref, runLock) // whoever runs a command hangs
	defer hung.Close()

	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err := h.Destroy(ctx, made.Ref)
	wantError(t, err, backend.ErrUnavailable, fmt.Sprintf("a command still runs in it, started by process %d", os.Getpid()))
	wantError(t, err, context.DeadlineExceeded, "")
	if got, err := h.Get(t.Context(), made.Ref); err != nil || got.State != sandbox.Stopping {
		t.Errorf("Get = %+v, %v; want it stopping", got, err)
	}
	_, err = h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"true"}, Timeout: time.Second})
	wantError(t, err, backend.ErrConflict, "being destroyed")
	wantError(t, h.WriteFile(t.Context(), made.Ref, "/workspace/x", strings.NewReader("x")), backend.ErrConflict, "being destroyed")
	_, err = h.Renew(t.Context(), made.Ref, made.ServerEnds.Add(time.Hour))
	wantError(t, err, backend.ErrConflict, "being destroyed")
	must(t, hung.Close())
	must(t, h.Destroy(t.Context(), made.Ref))
	_, err = h.Get(t.Context(), made.Ref)
	wantError(t, err, backend.ErrNotFound, "")
}

func TestDestroyWaitsOnceForARunnerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := testHost(t, place(t))
		made := create(t, h, nil)
		hung := lockOf(t, h, made.Ref, runLock)
		bubble := clock.System() // its time is the bubble's
		before := bubble.Now()
		wantError(t, h.Destroy(t.Context(), made.Ref), backend.ErrUnavailable, "not ended within 10s")
		if took := bubble.Now().Sub(before); took != stopWithin {
			t.Errorf("it waited %s, want %s", took, stopWithin)
		}
		must(t, hung.Close())
		must(t, h.Destroy(t.Context(), made.Ref))
	})
}

func TestRunningCommandEndsAtTheSandboxEnd(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	const left = 2 * time.Second
	must(t, h.edit(t.Context(), "shorten", "shorten", made.Ref, func(rec *record) error {
		rec.ExpiresAt = h.clock.Now().Add(left)
		return nil
	}))
	got, err := h.Exec(t.Context(), made.Ref, sleeper)
	must(t, err)
	if !got.TimedOut || !got.Terminated || got.AppliedTimeout > left || got.ExitCode != -1 {
		t.Errorf("the command ended as %+v; want a timeout of at most %s that was the end", got, left)
	}
}

func TestRenewalReachesARunningCommand(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	const left = 2 * time.Second
	expire := func(rec *record) error {
		rec.ExpiresAt = h.clock.Now().Add(left)
		return nil
	}
	must(t, h.edit(t.Context(), "shorten", "shorten", made.Ref, expire))
	end := running(t, h, made.Ref)
	_, err := h.Renew(t.Context(), made.Ref, h.clock.Now().Add(time.Hour))
	must(t, err)
	select {
	case e := <-end:
		t.Fatalf("it ended in spite of the renewal: %+v", e)
	case <-time.After(left + 2*watchEvery):
	}
	must(t, h.edit(t.Context(), "shorten", "shorten", made.Ref, expire))
	if e := <-end; e.err != nil || !e.result.Terminated || !e.result.TimedOut || e.result.AppliedTimeout <= left {
		t.Errorf("it ended as %+v; want the sandbox's new end", e)
	}
}

func TestRenewalDoesNotLengthenACommandsOwnTimeout(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	renewed := make(chan error, 1)
	in := readerFunc(func([]byte) (int, error) { // the command runs by now
		_, err := h.Renew(t.Context(), made.Ref, h.clock.Now().Add(2*time.Hour))
		renewed <- err
		return 0, io.EOF
	})
	const timeout = time.Second
	got, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"sleep", "300"}, Stdin: in, Timeout: timeout})
	must(t, err)
	must(t, <-renewed)
	if !got.TimedOut || got.Terminated || got.AppliedTimeout != timeout {
		t.Errorf("the command ended as %+v; want its own timeout", got)
	}
}

func TestNothingRunsInAnEndedSandboxThatStillCanBeReadAndDestroyed(t *testing.T) {
	h, clk := testHost(t, place(t))
	made := create(t, h, nil)
	must(t, h.WriteFile(t.Context(), made.Ref, "/workspace/result", strings.NewReader("42")))
	clk.Set(made.ServerEnds)

	_, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"true"}, Timeout: time.Second})
	wantError(t, err, backend.ErrConflict, "it ended at 2030-01-02T04:04:05Z")
	wantError(t, h.WriteFile(t.Context(), made.Ref, "/workspace/x", strings.NewReader("x")), backend.ErrConflict, "it ended at")
	_, err = h.Renew(t.Context(), made.Ref, clk.Now().Add(time.Hour))
	wantError(t, err, backend.ErrConflict, "it ended at")

	var content strings.Builder
	if _, err := h.ReadFile(t.Context(), made.Ref, "/workspace/result", 10, &content); err != nil || content.String() != "42" {
		t.Errorf("ReadFile = %q, %v", content.String(), err)
	}
	must(t, h.SetTags(t.Context(), made.Ref, sandbox.Tags{sandbox.TagTeardownAt: "1"}))
	must(t, h.Destroy(t.Context(), made.Ref))
}

func TestRenewalMovesTheEndAndNeverShortens(t *testing.T) {
	h, clk := testHost(t, place(t))
	made := create(t, h, nil)
	for _, step := range []struct{ until, want time.Duration }{
		{2 * time.Hour, 2 * time.Hour}, {time.Hour, 2 * time.Hour}, {-time.Hour, 2 * time.Hour}, {lifetimeMax, lifetimeMax},
	} {
		end, err := h.Renew(t.Context(), made.Ref, clk.Now().Add(step.until))
		if want := clk.Now().Add(step.want); err != nil || !end.Equal(want) {
			t.Errorf("Renew(%s) = %s, %v; want %s", step.until, end, err, want)
		}
	}
	_, err := h.Renew(t.Context(), made.Ref, clk.Now().Add(lifetimeMax+time.Second))
	wantError(t, err, backend.ErrInvalid, "longer than")
}

func TestWithoutIsolationNothingIsMadeOrRun(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	withoutIsolation(h)
	wantError(t, h.Prepare(t.Context()), backend.ErrUnenforceable, engine.ErrUnavailable.Error())
	_, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"true"}, Timeout: time.Second})
	wantError(t, err, backend.ErrUnenforceable, engine.ErrUnavailable.Error())
	_, err = backend.Create(t.Context(), h, request(h, nil))
	wantError(t, err, backend.ErrUnenforceable, engine.ErrUnavailable.Error())
	if all := list(t, h); len(all) != 1 {
		t.Errorf("List = %v", all)
	}
	elsewhere := realHost(t)
	withoutIsolation(elsewhere)
	if err := elsewhere.Prepare(t.Context()); err == nil {
		t.Error("prepared where nothing can be isolated")
	}
	if _, err := os.Lstat(elsewhere.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a state directory was made all the same: %v", err)
	}
}

// withoutIsolation makes h believe that bubblewrap is gone.
func withoutIsolation(h *host) {
	h.engine = nil
	h.newEngine = func() (*engine.Engine, error) { return nil, engine.ErrUnavailable }
}

func TestWithoutIsolationWhatExistsIsReadAndCleared(t *testing.T) {
	h, _ := testHost(t, place(t))
	image := build(t, h, tarball(t, rootfs(t)))
	made := create(t, h, nil)
	must(t, os.Mkdir(filepath.Join(h.dir, stagingDir, "half-made"), 0o711))
	status, err := h.Check(t.Context())
	must(t, err)
	withoutIsolation(h)

	if got, err := h.Check(t.Context()); err != nil || got != status || got.Identity == "" {
		t.Errorf("Check = %+v, %v; want %+v", got, err, status)
	}
	uses := everyUse(h, made.Ref)
	for name, use := range uses {
		if name == "Exec" || name == "Destroy" || name == "ReadFile" { // it has no such file
			continue
		}
		if err := use(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, uses["Destroy"](t.Context()))
	must(t, h.DeleteImage(t.Context(), image))
	wantCleanEnd(t, h)
}

func TestHostWithoutRoomForACommandIsUnavailableAndMayBeTriedAgain(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	h.engine = nil
	h.newEngine = func() (*engine.Engine, error) { return nil, fmt.Errorf("%w: raise the limit", engine.ErrExhausted) }
	_, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"true"}, Timeout: time.Second})
	wantError(t, err, backend.ErrUnavailable, "raise the limit")
}

func TestEveryErrorOfTheEngineHasAClass(t *testing.T) {
	for _, test := range []struct{ engine, class error }{
		{engine.ErrInvalid, backend.ErrInvalid},
		{engine.ErrNotRun, backend.ErrInvalid},
		{engine.ErrExhausted, backend.ErrUnavailable},
		{engine.ErrUnavailable, backend.ErrUnenforceable},
		{fmt.Errorf("%w: %w", engine.ErrUnavailable, engine.ErrNotRun), backend.ErrUnenforceable}, // of a preflight
	} {
		got := classified(test.engine)
		wantError(t, got, test.class, test.engine.Error())
		for _, other := range []error{backend.ErrInvalid, backend.ErrUnavailable, backend.ErrUnenforceable} {
			if !errors.Is(other, test.class) && errors.Is(got, other) {
				t.Errorf("%v is %v as well", got, other)
			}
		}
	}
}

func TestNetworkIsCutUnlessThePolicyOpensIt(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	interfaces := func() string {
		got, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"sh", "-c", "ls /sys/class/net 2>/dev/null; cat /proc/net/dev"}, Timeout: time.Minute})
		must(t, err)
		return string(got.Stdout)
	}
	cut := interfaces()
	if lines := strings.Count(cut, "\n"); lines != 3 { // two of heading, and lo
		t.Errorf("without a network there are more interfaces than lo:\n%s", cut)
	}
	must(t, h.SetNetwork(t.Context(), made.Ref, sandbox.NetworkPolicy{Open: true}))
	host, err := os.ReadFile("/proc/net/dev")
	must(t, err)
	if open := interfaces(); strings.Count(open, "\n") != strings.Count(string(host), "\n") {
		t.Errorf("with an open network the interfaces are\n%s, want the host's\n%s", open, host)
	}
	wantError(t, h.SetNetwork(t.Context(), made.Ref, sandbox.NetworkPolicy{AllowEgressTo: []string{"example.org"}}), backend.ErrUnenforceable, "allow_egress_to")
	if policy, trusted, err := h.Network(t.Context(), made.Ref); err != nil || !policy.Open || !trusted {
		t.Errorf("Network = %+v, %v, %v", policy, trusted, err)
	}
}

func TestBlockingTheNetworkEndsTheCommandsThatHaveIt(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	other := newHost(h.dir, &backend.Caller{}, clock.System())
	without := running(t, h, made.Ref)
	must(t, other.SetNetwork(t.Context(), made.Ref, sandbox.NetworkPolicy{Open: true}))
	must(t, os.Remove(filepath.Join(h.dir, sandboxesDir, made.Handle, workDir, "started")))
	with := running(t, h, made.Ref)
	must(t, other.SetNetwork(t.Context(), made.Ref, sandbox.NetworkPolicy{}))
	select {
	case e := <-with:
		wantError(t, e.err, backend.ErrConflict, "network was blocked while it ran")
	case <-time.After(stopWithin):
		t.Error("the command that has the network runs on")
	}
	select {
	case e := <-without:
		t.Errorf("the command that never had the network ended: %+v", e)
	case <-time.After(2 * watchEvery):
	}
	must(t, h.Destroy(t.Context(), made.Ref))
	<-without
}

func TestNetworkIsNotCalledBlockedWhileARunnerThatHangsHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := testHost(t, place(t))
		req := request(h, nil)
		req.Spec.Network.Open = true
		made := createFrom(t, h, req)
		hung := lockOf(t, h, made.Ref, openLock)
		bubble := clock.System() // its time is the bubble's
		for range 2 {            // the second call finds the record changed already
			before := bubble.Now()
			err := h.SetNetwork(t.Context(), made.Ref, sandbox.NetworkPolicy{})
			wantError(t, err, backend.ErrUnavailable, fmt.Sprintf("a command still runs in it, started by process %d", os.Getpid()))
			if took := bubble.Now().Sub(before); took != stopWithin {
				t.Errorf("it waited %s, want %s", took, stopWithin)
			}
		}
		must(t, hung.Close())
		must(t, h.SetNetwork(t.Context(), made.Ref, sandbox.NetworkPolicy{}))
	})
}

// lockOf takes a lock of a sandbox as whoever runs a command does.
func lockOf(t *testing.T, h *host, ref sandbox.Ref, name string) *os.File {
	t.Helper()
	d, err := openFolder(filepath.Join(h.dir, sandboxesDir, ref.Handle))
	must(t, err)
	defer d.Close()
	lock, err := d.tryLock(name, shared)
	must(t, err)
	return lock
}

func TestWorkdirThatACommandClosedIsOpenAgainForTheNext(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	command := func(argv ...string) backend.Result {
		got, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: argv, Timeout: time.Minute})
		must(t, err)
		return got
	}
	for name, use := range map[string]func() error{
		"read":  func() error { _, err := h.ReadFile(t.Context(), made.Ref, "/workspace/x", 10, io.Discard); return err },
		"write": func() error { return h.WriteFile(t.Context(), made.Ref, "/workspace/x", strings.NewReader("x")) },
		"list":  func() error { _, err := h.ListDirectory(t.Context(), made.Ref, "/workspace"); return err },
	} {
		must(t, h.WriteFile(t.Context(), made.Ref, "/workspace/x", strings.NewReader("x")))
		command("chmod", "000", "/workspace")
		if err := use(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		command("chmod", "057", "/workspace")
		if got := command("stat", "-c", "%a", "/workspace"); string(got.Stdout) != "757\n" {
			t.Errorf("after it was closed to its owner only, the mode is %q, stderr %q", got.Stdout, got.Stderr)
		}
	}
}

func TestCommandOfAnUnknownProgramSaysSo(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	for argv, want := range map[string]int{"no-such-program": 127, "/etc/passwd": 126} {
		got, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{argv}, Timeout: time.Minute})
		if err != nil || got.ExitCode != want || !strings.Contains(string(got.Stderr), argv) {
			t.Errorf("%s = %+v, %v; want exit code %d", argv, got, err, want)
		}
	}
	_, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"true"}, Dir: "/workspace/missing", Timeout: time.Minute})
	wantError(t, err, backend.ErrInvalid, "/workspace/missing")
}

func TestAsMuchOutputAsIsAllowedIsKept(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	got, err := h.Exec(t.Context(), made.Ref, backend.Command{
		Argv: []string{"echo", "whole"}, Timeout: time.Duration(math.MaxInt64), MaxOutput: backend.OutputLimit})
	if err != nil || string(got.Stdout) != "whole\n" || got.StdoutTruncated {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestWriterOfASandboxKeepsItFromBeingDeleted(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	var destroyed error
	read := readerFunc(func([]byte) (int, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		destroyed = h.Destroy(ctx, made.Ref)
		return 0, errors.New("broken off")
	})
	if err := h.WriteFile(t.Context(), made.Ref, "/workspace/x", read); err == nil {
		t.Error("a broken reader was written")
	}
	if destroyed == nil {
		t.Error("destroyed while a file was written")
	}
	must(t, h.Destroy(t.Context(), made.Ref))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
