// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var handlePattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// Create builds the sandbox aside and renames it into place, so that it is
// there whole or not at all. The handle is the requested name.
func (h *host) Create(ctx context.Context, req backend.Request) (sandbox.Sandbox, error) {
	made, err := h.create(ctx, req)
	if err != nil {
		return sandbox.Sandbox{}, h.failed("create sandbox", req.Name, err)
	}
	return made, nil
}

func (h *host) create(ctx context.Context, req backend.Request) (sandbox.Sandbox, error) {
	rec, err := h.newRecord(req)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	if err := h.Prepare(ctx); err != nil {
		return sandbox.Sandbox{}, err
	}
	st, err := openState(h.dir)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	defer st.Close()

	images, err := st.lock(ctx, imagesLock, shared)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	defer images.Close()
	check := backend.Call{Verb: "check-image", Idempotent: true, Deadline: treeDeadline}
	err = h.call(ctx, check, func(ctx context.Context) error { return st.checkUsable(ctx, rec.Image) })
	if err != nil {
		return sandbox.Sandbox{}, err
	}

	draft := &draft{st: st, name: rec.Handle + "-" + rec.Incarnation}
	defer draft.discard(ctx)
	err = h.call(ctx, write("stage"), func(ctx context.Context) error {
		if err := st.lendUser(ctx, &rec); err != nil {
			return err
		}
		if err := h.checkRoom(ctx, st, rec); err != nil {
			return err
		}
		return draft.fill(ctx, rec)
	})
	if err == nil {
		err = h.call(ctx, write("create"), func(context.Context) error { return draft.publish(rec.Handle) })
	}
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	return rec.sandbox(), nil
}

// newRecord checks the request and writes its record, but for the host user.
func (h *host) newRecord(req backend.Request) (record, error) {
	if err := backend.Refused(h.Refuse(req.Spec)); err != nil {
		return record{}, err
	}
	now := h.clock.Now()
	switch {
	case !handlePattern.MatchString(req.Name):
		return record{}, fmt.Errorf("%w name %q: up to 64 lower-case letters, digits and dashes", backend.ErrInvalid, req.Name)
	case req.Mark == "":
		return record{}, fmt.Errorf("%w: the mark is missing", backend.ErrInvalid)
	case !req.ExpiresAt.After(now):
		return record{}, fmt.Errorf("%w: its end, %s, is not in the future", backend.ErrInvalid, req.ExpiresAt)
	case req.ExpiresAt.Sub(now) > lifetimeMax+time.Second: // the lifetime may have begun a moment ago
		return record{}, fmt.Errorf("%w: its end, %s, is more than %s away", backend.ErrInvalid, req.ExpiresAt, lifetimeMax)
	}
	rec := record{
		Schema:      schema,
		Handle:      req.Name,
		Incarnation: sandbox.NewMark(),
		Mark:        req.Mark,
		Status:      statusRunning,
		StatusSince: now,
		CreatedAt:   now,
		ExpiresAt:   req.ExpiresAt.UTC(),
		Image:       req.Spec.Image,
		Workdir:     req.Spec.Workdir,
		Env:         req.Spec.Env,
		OpenNetwork: req.Spec.Network.Open,
		UID:         os.Getuid(),
		GID:         os.Getgid(),
		Tags:        req.Tags.Clone(),
	}
	if rec.Image == "" {
		rec.Image = hostImage
	}
	if rec.Workdir == "" {
		rec.Workdir = engine.DefaultWorkdir
	}
	_, err := encode(rec)
	return rec, err
}

// lendUser gives the sandbox a host user of its own, where root can.
func (st *state) lendUser(ctx context.Context, rec *record) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, err := st.takeUID(ctx)
	rec.UID, rec.GID = uid, uid
	return err
}

// checkRoom asks the engine whether a command can run in the sandbox at all.
func (h *host) checkRoom(ctx context.Context, st *state, rec record) error {
	e, err := h.isolation(ctx)
	if err != nil {
		return err
	}
	// The sandbox's own directory is not there yet: the one above stands for it.
	room, err := st.room(rec, filepath.Join(h.dir, sandboxesDir))
	if err != nil {
		return err
	}
	room.Argv = []string{"true"}
	return classified(e.Check(room))
}

// fill makes the whole directory of the sandbox.
func (d *draft) fill(ctx context.Context, rec record) error {
	data, err := encode(rec)
	if err != nil {
		return err
	}
	dir, err := d.make(ctx)
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := dir.tryLock(runLock, shared)
	if err != nil {
		return err
	}
	lock.Close()
	work, err := dir.mkdir(workDir, 0o700)
	if err != nil {
		return err
	}
	defer work.Close()
	if err := work.Chown(rec.UID, rec.GID); err != nil {
		return unmapped(err, rec.UID)
	}
	return dir.replace(recordFile, data)
}

// publish is the moment at which the sandbox exists.
func (d *draft) publish(handle string) error {
	staging, err := d.st.folder.folder(stagingDir)
	if err != nil {
		return err
	}
	defer staging.Close()
	sandboxes, err := d.st.folder.folder(sandboxesDir)
	if err != nil {
		return err
	}
	defer sandboxes.Close()
	err = staging.rename(d.name, sandboxes, handle)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("%w: there is one of that name already", backend.ErrConflict)
	}
	if err != nil {
		return err
	}
	if err := sandboxes.Sync(); err != nil {
		return fmt.Errorf("%w: %w", backend.ErrUnknownOutcome, err)
	}
	return nil
}

func unmapped(err error, uid int) error {
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("host user %d does not exist in this user namespace; run outside of it, or as an unprivileged user: %w", uid, err)
	}
	return err
}
