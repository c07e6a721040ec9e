// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// stopWithin is how long a destroy, or a network that is cut off, waits until
// those who run commands in the sandbox have killed them, which takes them some
// watchEvery.
const stopWithin = 10 * time.Second

// Destroy ends the sandbox: it is marked, so that no command begins; those who
// run commands kill them; then its directory is renamed into the trash, and it
// is gone. What deleting cannot remove stays there as a Leftover.
func (h *host) Destroy(ctx context.Context, ref sandbox.Ref) error {
	var trashed string
	err := h.do(ctx, read("destroy"), func(ctx context.Context, st *state) error {
		name, err := st.retire(ctx, ref, h.clock.Now())
		trashed = cmp.Or(name, trashed) // a second attempt finds nothing
		return err
	})
	switch {
	case errors.Is(err, errOtherLife):
		return h.failed("destroy sandbox", ref.Handle, fmt.Errorf("%w: incarnation %s is gone and the handle lives as another", backend.ErrConflict, ref.Incarnation))
	case errors.Is(err, errHangs):
		return h.failed("destroy sandbox", ref.Handle, fmt.Errorf("%w: no other command begins, but %w", backend.ErrUnavailable, err))
	case err != nil && !errors.Is(err, backend.ErrNotFound):
		return h.failed("destroy sandbox", ref.Handle, err)
	case trashed == "":
		return nil
	}
	call := backend.Call{Verb: "delete", Idempotent: true, Deadline: treeDeadline}
	err = h.do(ctx, call, func(ctx context.Context, st *state) error { return st.eraseTrash(ctx, trashed) })
	if err != nil {
		slog.WarnContext(ctx, "destroyed sandbox left files behind", "handle", ref.Handle,
			"path", filepath.Join(h.dir, trashDir, trashed), "error", err)
	}
	return nil
}

// retire moves the sandbox to the trash and returns its name there.
func (st *state) retire(ctx context.Context, ref sandbox.Ref, now time.Time) (string, error) {
	if !isEntry(ref.Handle) {
		return "", gone(ref)
	}
	dir, err := st.openSandbox(ref)
	if err != nil {
		return "", err
	}
	defer dir.Close()

	// On a full disk the mark cannot be written, and destroying is what helps.
	// The rename needs no space, and those who run commands see it as well.
	err = st.markStopping(ctx, ref, now)
	full := isFull(err)
	if err != nil && !full {
		return "", err
	}
	if !full {
		idle, err := waitIdle(ctx, dir, runLock)
		if errors.Is(err, fs.ErrNotExist) { // somebody else deletes it
			return "", gone(ref)
		}
		if err != nil {
			return "", err
		}
		defer idle.Close()
	}
	trashed, err := st.trash(ctx, sandboxesDir, ref.Handle, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", gone(ref)
	}
	if err != nil || !full {
		return trashed, err
	}
	idle, err := waitIdle(ctx, dir, runLock)
	if err != nil {
		return "", err
	}
	return trashed, idle.Close()
}

func (st *state) markStopping(ctx context.Context, ref sandbox.Ref, now time.Time) error {
	return st.change(ctx, ref, func(rec *record) error {
		if rec.Status != statusStopping {
			rec.Status, rec.StatusSince = statusStopping, now
		}
		return nil
	})
}

// errHangs: a command did not end within stopWithin, or as long as the caller
// waits. It becomes ErrUnavailable only where no Caller would wait all over again.
var errHangs = errors.New("a command still runs in it")

// waitIdle waits until no command holds the lock name of the sandbox dir.
// Closing what it returns lets commands in again.
func waitIdle(ctx context.Context, dir folder, name string) (*os.File, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, stopWithin, fmt.Errorf("not ended within %s", stopWithin))
	defer cancel()
	lock, err := dir.lock(waiting, name, exclusive)
	if err == nil || waiting.Err() == nil {
		return lock, err
	}
	by := "whoever has " + filepath.Join(dir.Name(), name) + " open"
	if pids := dir.holders(name); len(pids) > 0 {
		by = "process " + strings.Join(pids, ", ")
	}
	return nil, fmt.Errorf("%w, started by %s: %w; end that process and do this again", errHangs, by, context.Cause(waiting))
}

// trash moves name in the folder parent, which must still be dir, into the
// trash and returns its name there. fs.ErrNotExist: somebody else did.
func (st *state) trash(ctx context.Context, parent, name string, dir folder) (string, error) {
	lock, err := dir.lock(ctx, metaLock, exclusive)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	switch there, err := st.same(parent+"/"+name, dir); {
	case err != nil:
		return "", err
	case !there:
		return "", fs.ErrNotExist
	}
	return st.moveToTrash(parent, name)
}

func (st *state) moveToTrash(parent, name string) (string, error) {
	from, err := st.folder.folder(parent)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := st.folder.folder(trashDir)
	if err != nil {
		return "", err
	}
	defer to.Close()
	trashed := name + "-" + sandbox.NewMark()
	if err := from.rename(name, to, trashed); err != nil {
		return "", err
	}
	return trashed, errors.Join(from.Sync(), to.Sync())
}

func (st *state) eraseTrash(ctx context.Context, name string) error {
	trash, err := st.folder.folder(trashDir)
	if err != nil {
		return err
	}
	defer trash.Close()
	return trash.erase(ctx, name)
}
