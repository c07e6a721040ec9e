// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds what must happen soon, on however busy a machine.
const patience = 3 * time.Minute

// world is a folder with the example, as the guide has it made, beside an
// emulator of its own.
type world struct {
	t   *testing.T
	dir string
	env []string // above that of the test
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir()}
	if err := os.CopyFS(w.dir, os.DirFS(filepath.Join(repository, "examples/airflow"))); err != nil {
		t.Fatal(err)
	}
	w.emulate()
	return w
}

// emulate starts an emulator, takes over the environment that it prints, and
// stops it with the test.
func (w *world) emulate() {
	w.t.Helper()
	emulator := exec.Command(filepath.Join(programs, "emulator"), "modal", "--poll-lag", "0s") // what has ended is in no list
	out, err := emulator.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := emulator.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = emulator.Process.Signal(syscall.SIGTERM)
		if err := emulator.Wait(); err != nil {
			w.t.Errorf("the emulator: %v", err)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		variable := strings.TrimPrefix(lines.Text(), "export ")
		w.env = append(w.env, variable)
		if strings.HasPrefix(variable, "no_proxy=") { // the last one
			return
		}
	}
	w.t.Fatal("the emulator ended")
}

// command is a program of ours, or terraform, in the folder.
func (w *world) command(name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), filepath.Join(programs, name), args...)
	cmd.Dir = w.dir
	cmd.Env = append(append(os.Environ(), w.env...), "NO_COLOR=1", "TF_CLI_ARGS=-no-color")
	return cmd
}

// must runs a program, which must exit with 0, and returns its standard output.
func (w *world) must(name string, args ...string) string {
	w.t.Helper()
	cmd := w.command(name, args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, &complaints)
	}
	return string(out)
}

// until waits for something that must be so soon.
func (w *world) until(what string, so func() bool) {
	w.t.Helper()
	impatient := time.After(patience)
	for !so() {
		select {
		case <-impatient:
			w.t.Fatalf("within %s this was not so: %s", patience, what)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// holder is who holds the only sandbox.
func (w *world) holder() string {
	w.t.Helper()
	var shown struct{ Holder string }
	if err := json.Unmarshal([]byte(w.must("sandbox", "show", "modal:", "sb-", "--output", "json")), &shown); err != nil {
		w.t.Fatal(err)
	}
	return shown.Holder
}
