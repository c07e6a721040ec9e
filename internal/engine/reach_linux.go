// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// bubblewrap opens every directory by its path, as the lent user. Where root
// keeps one below a directory that others may not search, such as /root, it is
// bound to a place that they may, in a mount namespace of its own: nobody else
// sees that, and no mode on the host is touched.

// hall is where these directories are bound. Every Linux has it, and neither
// bubblewrap nor a command ever looks into it.
const hall = "/sys"

// reach notes that dir is bound in the hall, if the lent user could not search
// its way to it.
func (l *launch) reach(dir string) error {
	if dir == "" || os.Geteuid() != 0 {
		return nil
	}
	closed, err := closedAbove(dir)
	if err != nil || closed == "" {
		return err
	}
	if err := onThread(hallStarter(), openHall); err != nil {
		return fmt.Errorf("the unprivileged user that commands run as cannot reach %s: chmod o+x %s, or name another directory; "+
			"it cannot be shown elsewhere: %w", dir, closed, err)
	}
	l.bound = append(l.bound, dir)
	l.attributes.Cloneflags |= unix.CLONE_NEWNS
	return nil
}

// closedAbove returns a directory above dir that others may not search.
func closedAbove(dir string) (string, error) {
	target, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	for _, at := range []string{dir, target} {
		for at != "/" {
			at = filepath.Dir(at)
			info, err := os.Stat(at)
			if err != nil {
				return "", err
			}
			if info.Mode()&0o001 == 0 {
				return at, nil
			}
		}
	}
	return "", nil
}

// source returns the path by which bubblewrap finds path.
func (l *launch) source(path string) string {
	for i, dir := range l.bound {
		if below, ok := strings.CutPrefix(path+"/", dir+"/"); ok {
			return filepath.Join(hall, strconv.Itoa(i), below)
		}
	}
	return path
}

// begin calls start on a thread whose children find what is bound.
func (l *launch) begin(start func() error) error {
	if len(l.bound) == 0 {
		return onThread(starter(), start)
	}
	return onThread(hallStarter(), func() (err error) {
		for i, dir := range l.bound {
			door := filepath.Join(hall, strconv.Itoa(i))
			if err := os.Mkdir(door, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if err := unix.Mount(dir, door, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
				return fmt.Errorf("bind %s: %w", dir, err)
			}
			// The child has a copy of all mounts by then.
			defer func() { err = errors.Join(err, unix.Unmount(door, unix.MNT_DETACH)) }()
		}
		return start()
	})
}

// openHall gives the thread of hallStarter mounts of its own, once, with an empty
// hall. A root without CAP_SYS_ADMIN, as in a container, may not.
var openHall = sync.OnceValue(func() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	// What the host mounts later appears here too, but not the other way round.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("part its mounts from the host's: %w", err)
	}
	return unix.Mount("tmpfs", hall, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=64k,mode=0711")
})

// hallStarter is the one thread with a hall.
var hallStarter = sync.OnceValue(newThread)
