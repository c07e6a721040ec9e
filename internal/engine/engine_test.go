// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestPreflightRunsTheRealChain(t *testing.T) {
	if err := engineFor(t).Preflight(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestPreflightNamesTheRemedy(t *testing.T) {
	e := *engineFor(t)
	e.system = append(slices.Clone(e.system), "--ro-bind", "/no/such", "/no/such")
	err := e.Preflight(t.Context())
	if !errors.Is(err, ErrUnavailable) || !errors.Is(err, ErrNotRun) || !strings.Contains(err.Error(), "/no/such") {
		t.Error(err)
	}
	e.bubblewrap = "/no/such/bwrap"
	if err := e.Preflight(t.Context()); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "/no/such/bwrap") {
		t.Error(err)
	}
}

// TestPreflightWhereNamespacesAreSwitchedOff runs this program as root of a user
// namespace, whose settings are its own.
func TestPreflightWhereNamespacesAreSwitchedOff(t *testing.T) {
	if os.Geteuid() != 0 {
		return // that root would not be bubblewrap's owner
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	every := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1 << 16}}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), strandedVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: every, GidMappings: every}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "sysctl user.max_user_namespaces=") {
		t.Errorf("%v\n%s", err, out)
	}
}

// stranded switches namespaces off where it runs, and returns what Preflight
// says of it.
func stranded() error {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte("0"), 0); err != nil {
		return err
	}
	e, err := New()
	if err != nil {
		return err
	}
	return e.Preflight(context.Background())
}

func TestPreflightEndsWithItsContext(t *testing.T) {
	e := *engineFor(t)
	e.bubblewrap = filepath.Join(openDirectory(t), "endless")
	if err := os.WriteFile(e.bubblewrap, []byte("#!/bin/sh\nsleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Preflight(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRemedies(t *testing.T) {
	for _, c := range []struct {
		name string
		host host
		want string
	}{
		{"no namespaces", host{namespaces: "0", container: true}, "sysctl user.max_user_namespaces="},
		{"container", host{namespaces: "100", container: true, root: true}, "--security-opt seccomp=unconfined --security-opt systempaths=unconfined"},
		{"Debian", host{namespaces: "100", unprivileged: "0"}, "sysctl kernel.unprivileged_userns_clone=1"},
		{"Ubuntu", host{namespaces: "100", appArmor: "1", program: "/opt/program"}, "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or only to /opt/program"},
		{"Ubuntu as root", host{namespaces: "100", appArmor: "1", root: true}, "unshare --user --pid --fork true"},
		{"unknown", host{}, "unshare --user --pid --fork true"},
	} {
		if got := remedy(c.host); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestStartErrorsSayWhatToDo(t *testing.T) {
	for _, c := range []struct {
		errno syscall.Errno
		class error
		words string
	}{
		{syscall.EMFILE, ErrExhausted, "ulimit -n"},
		{syscall.ENFILE, ErrExhausted, "ulimit -n"},
		{syscall.EAGAIN, ErrExhausted, "ulimit -u"},
		{syscall.ENOMEM, ErrExhausted, "fewer commands"},
		{syscall.E2BIG, ErrInvalid, "standard input"},
		{syscall.EPERM, ErrUnavailable, "namespaces"},
		{syscall.ENOSPC, ErrUnavailable, "namespaces"},
	} {
		err := explainStart(&os.PathError{Op: "fork/exec", Path: "bwrap", Err: c.errno})
		if !strings.Contains(err.Error(), c.words) || !errors.Is(err, c.errno) || !errors.Is(err, c.class) {
			t.Errorf("%v: %v", c.errno, err)
		}
	}
}

func TestMissingBubblewrapNamesTheInstallCommand(t *testing.T) {
	_, err := findBubblewrap([]string{filepath.Join(t.TempDir(), "bwrap")})
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Error(err)
	}
}

func TestBubblewrapThatACommandCouldChangeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bwrap")
	copyFile(t, engineFor(t).bubblewrap, path)
	mode := os.FileMode(0o755)
	if os.Geteuid() == 0 { // it is root's own, so its mode must be what is wrong
		mode = 0o775
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	if err := checkOwner(path); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "can change it") {
		t.Error(err)
	}
	if err := checkOwner(engineFor(t).bubblewrap); err != nil {
		t.Error(err)
	}
}

func TestOldBubblewrapIsRefused(t *testing.T) {
	missing := missingOptions("usage: bwrap\n --help  --args FD\n --disable-users  x\n")
	if slices.Contains(missing, "--args") || !slices.Contains(missing, "--disable-userns") {
		t.Errorf("%q", missing)
	}
}

func TestEveryOptionInUseIsRequired(t *testing.T) {
	spec, err := Spec{Argv: []string{"true"}, Network: true, Root: newRoot(t), HostUID: hostID, HostGID: hostID}.complete(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	inUse := map[string]bool{"--args": true}
	for _, s := range []Spec{spec, {Work: t.TempDir(), Workdir: "/w"}} {
		l, err := engineFor(t).plan(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, option := range l.options {
			if strings.HasPrefix(option, "--") {
				inUse[option] = true
				if !slices.Contains(requiredOptions, option) {
					t.Errorf("%s is not required", option)
				}
			}
		}
	}
	for _, option := range requiredOptions {
		if !inUse[option] {
			t.Errorf("%s is required, but not used", option)
		}
	}
}

func TestStartLeaksNoDescriptor(t *testing.T) {
	run(t, Spec{Argv: []string{"true"}}) // what is opened once
	before := descriptors(t)
	for range 5 {
		run(t, Spec{Argv: []string{"true"}})
		e := *engineFor(t)
		e.bubblewrap = "/no/such/bwrap"
		if _, err := e.Start(lent(Spec{Argv: []string{"true"}})); err == nil {
			t.Fatal("started without bubblewrap")
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
