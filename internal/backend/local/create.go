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
	"regexp"
	"strings"

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
	if _, err := h.isolation(ctx); err != nil {
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
	if _, err := st.imageRoot(rec.Image); err != nil {
		return sandbox.Sandbox{}, err
	}

	draft := &draft{st: st, name: rec.Handle + "-" + rec.Incarnation}
	defer draft.discard()
	if err := h.caller.Do(ctx, write("stage"), func(ctx context.Context) error { return draft.build(ctx, &rec) }); err != nil {
		return sandbox.Sandbox{}, err
	}
	if err := h.caller.Do(ctx, write("create"), func(ctx context.Context) error { return draft.publish(ctx, rec.Handle) }); err != nil {
		return sandbox.Sandbox{}, err
	}
	return rec.sandbox(), nil
}

// newRecord checks the request and writes its record, but for the host user.
func (h *host) newRecord(req backend.Request) (record, error) {
	now := h.clock.Now()
	switch {
	case !handlePattern.MatchString(req.Name):
		return record{}, fmt.Errorf("%w name %q: up to 64 lower-case letters, digits and dashes", backend.ErrInvalid, req.Name)
	case req.Mark == "":
		return record{}, fmt.Errorf("%w: the mark is missing", backend.ErrInvalid)
	case !req.ExpiresAt.After(now):
		return record{}, fmt.Errorf("%w: its end, %s, is not in the future", backend.ErrInvalid, req.ExpiresAt)
	}
	if err := backend.Refused(h.Refuse(req.Spec)); err != nil {
		return record{}, err
	}
	rec := record{
		Schema:      schema,
		Handle:      req.Name,
		Incarnation: random(),
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

// draft is a sandbox in the making: a directory in staging whose lock its
// maker holds, which is how a leftover is told from work in progress.
type draft struct {
	st   *state
	name string
	lock *os.File
}

func (d *draft) build(ctx context.Context, rec *record) error {
	if os.Geteuid() == 0 {
		uid, err := d.st.takeUID(ctx)
		if err != nil {
			return err
		}
		rec.UID, rec.GID = uid, uid
	}
	data, err := encode(*rec)
	if err != nil {
		return err
	}
	dir, err := d.st.mkdir(stagingDir+"/"+d.name, searchable())
	if err != nil {
		return err
	}
	defer dir.Close()
	if d.lock, err = dir.lock(ctx, metaLock, exclusive); err != nil {
		return err
	}
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
func (d *draft) publish(ctx context.Context, handle string) error {
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
	if err := context.Cause(ctx); err != nil {
		return err
	}
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

// discard removes what was not published.
func (d *draft) discard() {
	if staging, err := d.st.folder.folder(stagingDir); err == nil {
		_ = staging.erase(d.name)
		staging.Close()
	}
	if d.lock != nil {
		d.lock.Close()
	}
}

func unmapped(err error, uid int) error {
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("host user %d does not exist in this user namespace; run outside of it, or as an unprivileged user: %w", uid, err)
	}
	return err
}

// The host users of sandboxes, when root owns the state directory: a range that
// systemd's table of users leaves to nobody (UIDS-GIDS.md: 1879048192 to
// 2147352575). Each number is used once, so that a file left by one sandbox
// never belongs to another.
const (
	firstUID = 0x70000000
	lastUID  = 0x7ffeffff
)

const (
	nextUIDFile = "next-uid"
	nextUIDLock = "next-uid.lock"
)

// takeUID returns a host user that no sandbox has had.
func (st *state) takeUID(ctx context.Context) (int, error) {
	lock, err := st.lock(ctx, nextUIDLock, exclusive)
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	next := firstUID
	data, err := st.read(nextUIDFile, maxFile)
	if err == nil {
		_, err = fmt.Sscanf(strings.TrimSpace(string(data)), "%d", &next)
	} else if errors.Is(err, fs.ErrNotExist) {
		next, err = st.unusedUID()
	}
	if err != nil || next < firstUID || next > lastUID {
		return 0, fmt.Errorf("%w: %s/%s does not hold a number from %d to %d: remove it, and the next sandbox gets one above every user in use",
			backend.ErrInvalid, st.Name(), nextUIDFile, firstUID, lastUID)
	}
	return next, st.replace(nextUIDFile, fmt.Appendln(nil, next+1))
}

// unusedUID looks for a user above those of all sandboxes that there are.
func (st *state) unusedUID() (int, error) {
	handles, err := st.names(sandboxesDir)
	if err != nil {
		return 0, err
	}
	next := firstUID
	for _, handle := range handles {
		if work, err := st.stat(sandboxesDir + "/" + handle + "/" + workDir); err == nil {
			next = max(next, int(work.Uid)+1)
		}
	}
	return next, nil
}
