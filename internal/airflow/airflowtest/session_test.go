// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package airflowtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestNothingThatAProgramStartedOutlivesIt(t *testing.T) {
	var child string
	t.Run("it runs", func(t *testing.T) {
		// timeout puts itself into a process group of its own, as a task of Airflow's is.
		log := start(t, exec.CommandContext(t.Context(), "sh", "-c", `timeout 1000 sh -c 'echo "$$."; exec sleep 1000' & wait`), ".")
		child = strings.TrimSuffix(log.String(), ".\n")
	})
	if stat, err := os.ReadFile("/proc/" + child + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("%s lives: %s", child, stat)
	}
}
