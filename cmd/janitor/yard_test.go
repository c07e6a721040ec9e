// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// yard is a state directory with sandboxes and a janitor's configuration.
type yard struct {
	mess
	config, state string
}

// newYard makes one. In settings, a "state:" takes the place of the directory.
func newYard(t *testing.T, settings string) yard {
	t.Helper()
	root := reachable(t)
	m, err := newMess(filepath.Join(root, "local"))
	if err != nil {
		t.Fatal(err)
	}
	y := yard{m, filepath.Join(root, "janitor.yaml"), filepath.Join(root, "state")}
	y.configure(t, settings)
	return y
}

// configure writes the configuration: the one place, and settings.
func (y yard) configure(t *testing.T, settings string) {
	t.Helper()
	if !strings.Contains(settings, "state:") {
		settings += "\nstate: file://" + y.state
	}
	text := fmt.Sprintf("mode: enforce\nconnections: {lab: {uri: \"local://%s\", rules: {orphaned_workspace: enforce}}}\n%s\n", y.dir, settings)
	if err := os.WriteFile(y.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command is the janitor over the yard; it is killed when the test ends first.
func (y yard) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(args, "--config", y.config)...)
	cmd.Env = append(os.Environ(), "JANITOR_CONFIG=")
	return cmd
}

// run runs the janitor and returns what it says and its exit status.
func (y yard) run(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	return finish(t, y.command(t, args...))
}

// finish runs cmd to its end, and returns what it says and its exit status.
func finish(t *testing.T, cmd *exec.Cmd) (out string, status int) {
	t.Helper()
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	status = statusOf(t, cmd.Run(), &both)
	return both.String(), status
}

func statusOf(t *testing.T, err error, out *bytes.Buffer) int {
	t.Helper()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode()
	case errors.As(err, &exit):
		return -int(exit.Sys().(syscall.WaitStatus).Signal())
	}
	t.Fatal(err, out)
	return 0
}

// background is a janitor that runs beside the test.
type background struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	lines chan string // of its log
	log   bytes.Buffer
}

func (y yard) start(t *testing.T, args ...string) *background {
	t.Helper()
	b := &background{cmd: y.command(t, args...), lines: make(chan string, 1000)}
	b.cmd.Stdout = &b.out
	log, err := b.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for scanner := bufio.NewScanner(log); scanner.Scan(); {
			b.lines <- scanner.Text()
		}
		close(b.lines)
	}()
	return b
}

// logs waits until the janitor logs what.
func (b *background) logs(t *testing.T, what string) {
	t.Helper()
	for line := range b.lines {
		b.log.WriteString(line + "\n")
		if strings.Contains(line, what) {
			return
		}
	}
	t.Fatalf("it ended before it logged %q:\n%s%s", what, &b.log, &b.out)
}

func (b *background) signal(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := b.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// insist sends a signal again and again until the janitor has ended.
func (b *background) insist(t *testing.T, sig os.Signal) {
	t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case line, running := <-b.lines:
			if !running {
				return
			}
			b.log.WriteString(line + "\n")
		case <-again.C:
			b.signal(t, sig)
		}
	}
}

// wait waits for the end and returns the status.
func (b *background) wait(t *testing.T) int {
	t.Helper()
	for line := range b.lines {
		b.log.WriteString(line + "\n")
	}
	return statusOf(t, b.cmd.Wait(), &b.out)
}

// occupy keeps a sandbox busy as a running command does, so that its destroy
// waits. release ends that; destroying is reached when the destroy has begun.
func (m mess) occupy(t *testing.T, handle string) (destroying func(), release func()) {
	t.Helper()
	dir := filepath.Join(m.dir, "sandboxes", handle)
	lock, err := os.OpenFile(filepath.Join(dir, "run.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() { _ = lock.Close() })
	t.Cleanup(release)
	changes := watch(t, dir)
	return func() {
		for {
			data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
			if err != nil {
				t.Fatal(err)
			}
			var record struct{ Status string }
			if json.Unmarshal(data, &record) == nil && record.Status == "stopping" {
				return
			}
			if err := changes(); err != nil {
				t.Fatal(err)
			}
		}
	}, release
}

// watch returns a function that waits for the next change in any of dirs.
func watch(t *testing.T, dirs ...string) (next func() error) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { _ = file.Close() })
	for _, dir := range dirs {
		if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_MOVED_FROM|unix.IN_MODIFY|unix.IN_DELETE); err != nil {
			t.Fatal(err)
		}
	}
	// The smallest buffer that holds one event, so that each is waited for.
	buffer := make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1)
	return func() error {
		_, err := file.Read(buffer)
		return err
	}
}

func (y yard) check(t *testing.T, handle string, want bool) {
	t.Helper()
	alive, err := y.alive(handle)
	if err != nil {
		t.Fatal(err)
	}
	if alive != want {
		t.Errorf("%s: alive is %t, want %t", handle, alive, want)
	}
}

// untilClean runs sweeps until one is clean and finds nothing left.
func (y yard) untilClean(t *testing.T) {
	t.Helper()
	var out string
	for range 5 {
		var status int
		if out, status = y.run(t, "sweep", "--auto-approve"); status == 0 && strings.Contains(out, "\n0 reclaimed. exit 0") {
			return
		}
	}
	t.Fatalf("not clean after five runs:\n%s", out)
}
