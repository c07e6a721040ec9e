// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// weak is what every process inside has to be.
var weak = map[string]string{
	"NoNewPrivs": "1", "Seccomp": "2",
	"CapInh": "0000000000000000", "CapPrm": "0000000000000000", "CapEff": "0000000000000000",
	"CapBnd": "0000000000000000", "CapAmb": "0000000000000000",
}

// strongProcess is through when any process can do more than it should. The
// first process takes its filter on only after it has started this one: it is
// looked at when it waits.
func strongProcess([]string) error {
	if err := firstWaits(); err != nil {
		return err
	}
	files, err := filepath.Glob("/proc/[0-9]*/status")
	if err != nil || len(files) < 2 {
		return fmt.Errorf("no processes to look at: %v", err)
	}
	for _, file := range files {
		status, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(status)) {
			key, value, _ := strings.Cut(line, ":")
			if want, ok := weak[key]; ok && strings.TrimSpace(value) != want {
				fmt.Println(file, line)
				return nil
			}
		}
	}
	return refusedf("%d processes can do nothing", len(files))
}

// firstWaits returns once the first process sleeps, as it does from when it is
// done with itself.
func firstWaits() error {
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile("/proc/1/stat")
		if err != nil {
			return err
		}
		if _, after, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(after, "S") {
			return nil
		}
	}
	return errors.New("the first process does not come to wait")
}

// strongMount is through when a mount honours setuid files or devices, or can be
// written to without being on the list.
func strongMount(args []string) error {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		where, options := fields[4], ","+fields[5]+","
		device := strings.HasPrefix(where, "/dev/")
		if !strings.Contains(options, ",nosuid,") || !device && !strings.Contains(options, ",nodev,") {
			fmt.Println(line)
			return nil
		}
		if strings.Contains(options, ",rw,") && !device && !strings.Contains(" /proc /tmp /run "+strings.Join(args, " ")+" ", " "+where+" ") {
			fmt.Println(line)
			return nil
		}
	}
	return refusedf("all mounts are tame")
}

// foreignProcess is through when it sees any process but the first and itself.
func foreignProcess([]string) error {
	files, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	if len(files) > 2 {
		fmt.Println(files)
		return nil
	}
	return refusedf("alone: %v", files)
}

// tree leaves a process behind that nobody waits for, in a session of its own,
// and that heeds no signal.
func tree(args []string) error {
	if len(args) == 1 { // first generation; the second one is orphaned
		return start("tree", args[0], "second")
	}
	return start("linger", args[0])
}

func start(args ...string) error {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// Wait for the word of the last generation.
	ready := make([]byte, 6)
	if _, err := out.Read(ready); err != nil {
		return err
	}
	fmt.Print(string(ready))
	return nil
}

func linger([]string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGPIPE)
	fmt.Println("ready")
	time.Sleep(time.Minute)
	return nil
}
