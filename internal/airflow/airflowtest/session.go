// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package airflowtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// inSession has a program run in a session of its own, so that all that it starts
// can be found when it is to end: each task of Airflow's has a process group of
// its own, and outlives the one that supervises it.
func inSession(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return killSession(cmd.Process.Pid) }
	cmd.WaitDelay = 10 * time.Second // whoever left the session may hold the output open
	return cmd
}

// killSession ends a program and what it has started, at once: their home goes
// with the test, and nothing in it is worth an orderly end. What starts while this
// looks is found by the next look.
func killSession(leader int) error {
	err := syscall.Kill(-leader, syscall.SIGKILL)
	for members := sessionOf(leader); len(members) > 0; members = sessionOf(leader) {
		for _, pid := range members {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have gone
		}
	}
	return err
}

// sessionOf lists the living processes of a session, where /proc tells of them.
func sessionOf(leader int) []int {
	var members []int
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is right
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has gone
		}
		// Behind the name in parentheses: state, parent, group, session.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 4 || fields[0] == "Z" || fields[3] != strconv.Itoa(leader) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			members = append(members, pid)
		}
	}
	return members
}
