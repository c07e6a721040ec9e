// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// leftoverKinds are the folders in which a crash leaves things. A leftover's
// handle is KIND/NAME, its incarnation the inode.
var leftoverKinds = []string{stagingDir, trashDir}

// Leftovers yields what is in staging and trash, work in progress included.
func (h *host) Leftovers(ctx context.Context) iter.Seq2[sandbox.Leftover, error] {
	return func(yield func(sandbox.Leftover, error) bool) {
		var found []sandbox.Leftover
		err := h.do(ctx, read("leftovers"), func(ctx context.Context, st *state) error {
			var err error
			found, err = st.leftovers(ctx)
			return err
		})
		if err != nil {
			yield(sandbox.Leftover{}, h.failed("list leftovers", "", err))
			return
		}
		for _, l := range found {
			if !yield(l, nil) {
				return
			}
		}
	}
}

func (st *state) leftovers(ctx context.Context) ([]sandbox.Leftover, error) {
	var found []sandbox.Leftover
	for _, kind := range leftoverKinds {
		names, err := st.names(kind)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			l, err := st.leftover(kind, name)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			found = append(found, l)
		}
	}
	return found, nil
}

// leftover describes one; fs.ErrNotExist: it is gone.
func (st *state) leftover(kind, name string) (sandbox.Leftover, error) {
	handle := kind + "/" + name
	is, err := st.stat(handle)
	if err != nil {
		return sandbox.Leftover{}, err
	}
	l := sandbox.Leftover{
		Ref:       sandbox.Ref{Handle: handle, Incarnation: witness(is)},
		Kind:      kind,
		Path:      filepath.Join(st.Name(), handle),
		ChangedAt: time.Unix(is.Mtime.Sec, int64(is.Mtime.Nsec)).UTC(),
	}
	if is.Mask&unix.STATX_BTIME != 0 {
		l.CreatedAt = time.Unix(is.Btime.Sec, int64(is.Btime.Nsec)).UTC()
	}
	switch {
	case is.Mode&unix.S_IFMT != unix.S_IFDIR:
		l.Problem = "not a directory"
		return l, nil
	case int(is.Uid) != os.Geteuid():
		l.Problem = "it belongs to another user"
		return l, nil
	}
	dir, err := st.folder.folder(handle)
	switch {
	case errors.Is(err, unix.EXDEV):
		l.Problem = "a mount point"
		return l, nil
	case err != nil:
		return l, err
	}
	defer dir.Close()
	l.InUse, err = dir.inUse()
	return l, err
}

// inUse reports whether somebody makes it or runs a command in it.
func (d folder) inUse() (bool, error) {
	for _, name := range []string{metaLock, runLock} {
		f, err := d.open(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, err
		}
		err = lockNow(f, exclusive)
		f.Close()
		if errors.Is(err, errLocked) {
			return true, nil
		}
		if err != nil {
			return false, d.failed("lock", name, err)
		}
	}
	return false, nil
}

// Remove deletes a leftover that is still the one that was listed and that
// nobody uses.
func (h *host) Remove(ctx context.Context, l sandbox.Leftover) error {
	call := backend.Call{Verb: "remove-leftover", Idempotent: true, Deadline: treeDeadline}
	err := h.do(ctx, call, func(ctx context.Context, st *state) error { return st.remove(ctx, l.Ref) })
	if err != nil {
		return h.failed("remove leftover", l.Handle, err)
	}
	return nil
}

func (st *state) remove(ctx context.Context, ref sandbox.Ref) error {
	kind, name, _ := strings.Cut(ref.Handle, "/")
	if !slices.Contains(leftoverKinds, kind) || !isEntry(name) {
		return fmt.Errorf("%w: no leftover is called that", backend.ErrInvalid)
	}
	now, err := st.leftover(kind, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case now.Incarnation != ref.Incarnation:
		return fmt.Errorf("%w: it is another one by now", backend.ErrConflict)
	case now.InUse:
		return fmt.Errorf("%w: it is in use", backend.ErrConflict)
	case now.Problem != "":
		return fmt.Errorf("%w: %s", backend.ErrConflict, now.Problem)
	}
	if kind == stagingDir {
		if name, err = st.moveToTrash(stagingDir, name); err != nil {
			return err
		}
	}
	return st.eraseTrash(ctx, name)
}
