// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// erase removes name and all below it; that it is gone already is fine. Links
// are removed, never followed, and a mount is an error. A directory that a
// command closed to everybody is opened first.
//
// Subdirectories are moved up into name before they are emptied, so that depth
// costs neither descriptors nor path length, whatever a command has built.
func (d folder) erase(ctx context.Context, name string) error {
	dir, is, err := d.removeFile(name)
	if err != nil || !is {
		return err
	}
	defer dir.Close()
	for {
		children, err := dir.names(".")
		if err != nil {
			return err
		}
		if len(children) == 0 {
			return d.removeDir(name)
		}
		for _, child := range children {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := dir.hoist(ctx, child); err != nil {
				return err
			}
		}
	}
}

// hoist removes child, after moving the directories in it up beside it.
func (d folder) hoist(ctx context.Context, child string) error {
	dir, is, err := d.removeFile(child)
	if err != nil || !is {
		return err
	}
	defer dir.Close()
	names, err := dir.names(".")
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		// Moving a directory changes its "..", which takes the right to write to
		// it: removeFile gives that too.
		inner, is, err := dir.removeFile(name)
		if err != nil {
			return err
		}
		if !is {
			continue
		}
		inner.Close()
		if err := dir.rename(name, d, sandbox.NewMark()); err != nil {
			return err
		}
	}
	return d.removeDir(child)
}

// removeFile removes name unless it is a directory: that is opened, and its
// owner given every right to it.
func (d folder) removeFile(name string) (dir folder, is bool, err error) {
	switch err := unix.Unlinkat(int(d.Fd()), name, 0); err {
	case nil, unix.ENOENT:
		return folder{}, false, nil
	case unix.EISDIR:
	default:
		return folder{}, false, d.failed("remove", name, err)
	}
	if err := d.unlock(name); err != nil {
		return folder{}, false, err
	}
	dir, err = d.folder(name)
	if errors.Is(err, fs.ErrNotExist) {
		return folder{}, false, nil
	}
	return dir, err == nil, err
}

// unlock gives the owner of the directory name every right to it, if it lacks
// one. It must do so without opening it for reading, which its mode may forbid.
func (d folder) unlock(name string) error {
	f, err := d.open(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, unix.EXDEV):
		return fmt.Errorf("%s/%s is a mount point, unmount it first: %w", d.Name(), name, err)
	case err != nil:
		return err
	}
	defer f.Close()
	var is unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &is)
	if err == nil && is.Mode&0o700 != 0o700 {
		err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), is.Mode&0o7777|0o700)
	}
	if err != nil {
		return d.failed("open up", name, err)
	}
	return nil
}

func (d folder) removeDir(name string) error {
	err := unix.Unlinkat(int(d.Fd()), name, unix.AT_REMOVEDIR)
	if err != nil && err != unix.ENOENT {
		return d.failed("remove", name, err)
	}
	return nil
}
