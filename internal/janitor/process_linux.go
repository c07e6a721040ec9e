// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package janitor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ThisProcess names this process among all that ever run here: boot, process
// namespace, number and start. Empty where the host does not tell.
func ThisProcess() string {
	start, err := startOf(strconv.Itoa(os.Getpid()))
	if err != nil {
		return ""
	}
	where := here()
	if where == "" {
		return ""
	}
	return fmt.Sprintf("%s/%d/%s", where, os.Getpid(), start)
}

// ProcessGone reports that the process which called itself so is certainly gone.
// It answers false for a process of another host, boot or process namespace,
// and wherever it cannot tell.
func ProcessGone(process string) bool {
	where := here()
	rest, ours := strings.CutPrefix(process, where+"/")
	pid, start, ok := strings.Cut(rest, "/")
	if where == "" || !ours || !ok {
		return false
	}
	number, err := strconv.Atoi(pid)
	if err != nil || number <= 0 {
		return false
	}
	now, err := startOf(pid)
	switch {
	case errors.Is(err, errZombie):
		return true
	case err != nil: // /proc may hide the processes of others
		return errors.Is(syscall.Kill(number, 0), syscall.ESRCH)
	}
	return now != start
}

// here names this boot and this process namespace.
func here() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(boot)) + "/" + namespace
}

var errZombie = errors.New("the process has ended")

// startOf is the moment at which a process started, in clock ticks since boot:
// field 22 of proc_pid_stat(5). A zombie has ended.
func startOf(pid string) (string, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", err
	}
	// The second field is the command in parentheses, and may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", errors.New("read the start of process " + pid + ": the line is too short")
	}
	if fields[0] == "Z" {
		return "", errZombie
	}
	return fields[19], nil
}
