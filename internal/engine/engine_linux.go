// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Engine starts commands. It is made once and safe for concurrent use.
type Engine struct {
	bubblewrap string   // absolute path, links resolved
	filter     []byte   // the system call filter, as the kernel reads it
	system     []string // options that show the host's own programs
	masks      []string // options that hide what /proc should not show
}

// bubblewrapPaths are the places where systems install bubblewrap. PATH is not
// asked: it is the user's, and this program sets the isolation up.
var bubblewrapPaths = []string{"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"}

// requiredOptions are all options that a launch may hold. bubblewrap 0.8 is the
// first to know them all.
var requiredOptions = []string{
	"--args", "--bind", "--cap-drop", "--chdir", "--clearenv", "--dev", "--die-with-parent", "--dir",
	"--disable-userns", "--gid", "--hostname", "--json-status-fd", "--new-session", "--perms", "--proc",
	"--remount-ro", "--ro-bind", "--ro-bind-data", "--ro-bind-try", "--seccomp", "--setenv", "--size",
	"--symlink", "--tmpfs", "--uid", "--unshare-cgroup-try", "--unshare-ipc", "--unshare-net",
	"--unshare-pid", "--unshare-user", "--unshare-uts",
}

// New finds bubblewrap and makes sure that it can be trusted and has every
// option that the engine relies on. It starts no command; see Preflight.
func New() (*Engine, error) {
	filter, err := systemCallFilter()
	if err != nil {
		return nil, err
	}
	bubblewrap, err := findBubblewrap(bubblewrapPaths)
	if err != nil {
		return nil, err
	}
	if err := checkOwner(bubblewrap); err != nil {
		return nil, err
	}
	if err := checkOptions(bubblewrap); err != nil {
		return nil, err
	}
	return &Engine{bubblewrap: bubblewrap, filter: filter, system: hostSystem(), masks: procMasks()}, nil
}

func findBubblewrap(paths []string) (string, error) {
	for _, path := range paths {
		switch found, err := filepath.EvalSymlinks(path); {
		case err == nil:
			return found, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("%w: looking for bubblewrap: %w", ErrUnavailable, err)
		}
	}
	return "", fmt.Errorf("%w: bubblewrap is not at %s; install it: %s",
		ErrUnavailable, strings.Join(paths, ", "), installRemedy)
}

// checkOwner refuses a bubblewrap that the command could change: its first
// process runs from that very file, outside of any read-only mount, and whoever
// owns a file may make it writable.
func checkOwner(path string) error {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, path, err)
	}
	if mode := stat.Mode & 0o777; stat.Uid != 0 || mode&0o022 != 0 {
		return fmt.Errorf("%w: %s belongs to uid %d with mode %04o, so that others than root can change it; "+
			"install the system's own: %s", ErrUnavailable, path, stat.Uid, mode, installRemedy)
	}
	return nil
}

func checkOptions(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--help")
	cmd.Env = []string{}
	help, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s --help: %w", ErrUnavailable, path, err)
	}
	if missing := missingOptions(string(help)); len(missing) > 0 {
		return fmt.Errorf("%w: %s does not know %s; bubblewrap 0.8 or newer is needed: %s",
			ErrUnavailable, path, strings.Join(missing, ", "), installRemedy)
	}
	return nil
}

// missingOptions returns the required options that a help text does not name.
func missingOptions(help string) []string {
	known := map[string]bool{}
	for _, word := range strings.Fields(help) {
		known[word] = true
	}
	var missing []string
	for _, option := range requiredOptions {
		if !known[option] {
			missing = append(missing, option)
		}
	}
	return missing
}
