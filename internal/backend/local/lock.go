// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The kinds of lock. They are released by the kernel when their holder dies.
const (
	shared    = unix.LOCK_SH
	exclusive = unix.LOCK_EX
)

// errLocked: another process holds the lock.
var errLocked = errors.New("locked")

// tryLock takes the lock on the file name without waiting. Close releases it.
func (d folder) tryLock(name string, kind int) (*os.File, error) {
	f, err := d.open(name, unix.O_RDWR|unix.O_CREAT|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockNow(f, kind); err != nil {
		f.Close()
		return nil, d.failed("lock", name, err)
	}
	return f, nil
}

func lockNow(f *os.File, kind int) error {
	for {
		switch err := unix.Flock(int(f.Fd()), kind|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return errLocked
		default:
			return err
		}
	}
}

// lock takes the lock on the file name, and waits for it as long as ctx allows.
// flock cannot be waited for together with a context, so it is asked again.
func (d folder) lock(ctx context.Context, name string, kind int) (*os.File, error) {
	for wait := time.Millisecond; ; wait = min(2*wait, 20*time.Millisecond) {
		f, err := d.tryLock(name, kind)
		if err == nil || !errors.Is(err, errLocked) {
			return f, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, d.failed("wait for the lock", name, context.Cause(ctx))
		}
	}
}

// holders returns the processes that took the lock on the file name, as far as
// the kernel tells us of them. It tells a few at a time, and one that is released
// meanwhile can hide the next: where nobody is found, look again.
func (d folder) holders(name string) []string {
	is, err := d.stat(name)
	if err != nil {
		return nil
	}
	file := fmt.Sprintf("%02x:%02x:%d", is.Dev_major, is.Dev_minor, is.Ino)
	for range 5 {
		if pids := lockers(file); len(pids) > 0 {
			return pids
		}
	}
	return nil
}

// lockers returns who has locked a file, by device and inode; see "/proc/locks" in
// proc_locks(5).
func lockers(file string) []string {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	var pids []string
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  READ 4711 fd:00:2531452 0 EOF
		if field := strings.Fields(line); len(field) == 8 && field[1] == "FLOCK" && field[5] == file {
			pids = append(pids, field[4])
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}
