// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package airflowtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestNothingThatAProgramStartedOutlivesIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "child")
	t.Run("it runs", func(t *testing.T) {
		// timeout puts itself into a process group of its own, as a task of Airflow's is.
		script := `timeout 1000 sh -c 'echo "$$" >"$0"; echo begun; exec sleep 1000' "$0" & wait`
		start(t, exec.CommandContext(t.Context(), "sh", "-c", script, file), "begun")
	})
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	child := strings.TrimSpace(string(written))
	if stat, err := os.ReadFile("/proc/" + child + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("%s lives: %s", child, stat)
	}
}
