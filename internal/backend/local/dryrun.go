// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var _ backend.DryRunner = (*host)(nil)

// dryRun is a look at a tree of files before anything is made of it.
var dryRun = backend.Call{Verb: "dry-run", Idempotent: true, Deadline: treeDeadline}

// DryRunPrepare says why this can be no state directory.
func (h *host) DryRunPrepare(ctx context.Context) error {
	err := h.call(ctx, dryRun, func(context.Context) error { return checkPlace(h.dir) })
	if err != nil {
		return h.failed("prepare", "", err)
	}
	return nil
}

// DryRunCreate says why no command could run with that image and workdir.
func (h *host) DryRunCreate(ctx context.Context, spec sandbox.Spec) error {
	err := h.call(ctx, dryRun, func(ctx context.Context) error {
		if err := checkPlace(h.dir); err != nil {
			return err
		}
		if _, err := h.isolation(ctx); err != nil {
			return err
		}
		return h.checkSpec(ctx, spec)
	})
	if err != nil {
		return h.failed("create a sandbox", "", err)
	}
	return nil
}

// DryRunBuildImage reads the whole source: what breaks off at its end does not
// build either.
func (h *host) DryRunBuildImage(ctx context.Context, spec backend.ImageSpec) error {
	err := h.call(ctx, dryRun, func(ctx context.Context) error {
		if err := checkPlace(h.dir); err != nil {
			return err
		}
		return checkSource(ctx, spec.From)
	})
	if err != nil {
		return h.failed("build an image from", spec.From, err)
	}
	return nil
}

// checkPlace reports why prepare would fail: for what stands at dir, or for what
// it would be made in.
func checkPlace(dir string) error {
	d, err := openOwn(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return checkAbove(dir)
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err = readInstance(d); errors.Is(err, fs.ErrNotExist) {
		err = checkEmpty(d)
	}
	return err
}

// checkAbove reports why dir, which is missing, could not be made.
func checkAbove(dir string) error {
	above := filepath.Dir(dir)
	for ; above != "/"; above = filepath.Dir(above) {
		if _, err := os.Lstat(above); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	info, err := os.Stat(above)
	switch {
	case err != nil:
		return fmt.Errorf("%w: the state directory %s cannot be made: %w", backend.ErrInvalid, dir, err)
	case !info.IsDir():
		return fmt.Errorf("%w: the state directory %s cannot be made: %s is not a directory", backend.ErrInvalid, dir, above)
	}
	if err := unix.Access(above, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%w: the state directory %s cannot be made in %s: %w", backend.ErrInvalid, dir, above, err)
	}
	return nil
}

// checkSpec is what Create demands of an image, at a place that may still have to
// be made.
func (h *host) checkSpec(ctx context.Context, spec sandbox.Spec) error {
	rec := record{
		Image:   cmp.Or(spec.Image, hostImage),
		Workdir: cmp.Or(spec.Workdir, engine.DefaultWorkdir),
		UID:     os.Getuid(),
		GID:     os.Getgid(),
	}
	if os.Geteuid() == 0 {
		rec.UID, rec.GID = firstUID, firstUID
	}
	st, err := openState(h.dir)
	switch {
	case err == nil:
		defer st.Close()
	case unpackedPattern.MatchString(rec.Image): // there is no images directory yet
		return fmt.Errorf("%w: image %s does not exist here; build it with sandbox_image", backend.ErrInvalid, rec.Image)
	default:
		return (&state{}).checkUsable(ctx, rec.Image)
	}
	if err := st.checkUsable(ctx, rec.Image); err != nil {
		return err
	}
	return h.checkRoom(ctx, st, rec)
}

// checkSource reports why an image cannot be built of from.
func checkSource(ctx context.Context, from string) error {
	if from == hostImage {
		return nil
	}
	from = filepath.Clean(from)
	info, err := os.Lstat(from)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	case info.IsDir():
		_, err := fingerprint(ctx, from)
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: neither a directory nor a file; name the target of a link", backend.ErrInvalid)
	}
	f, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	defer f.Close()
	return checkTarball(withContext{ctx, f})
}

// checkTarball reads a tarball to its end and refuses what unpack refuses.
func checkTarball(r io.Reader) error {
	return eachEntry(r, func(header *tar.Header, content io.Reader) error {
		if _, err := entryName(header); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, content)
		return err
	})
}
