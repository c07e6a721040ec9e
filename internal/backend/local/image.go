// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// An image is one of:
//
//	host                         the host's own /usr and what belongs to it
//	/absolute/dir                a root file system directory, as it is whenever a command runs
//	/absolute/dir@sha256-HEX     the same, if its fingerprint is that one when a sandbox is made of it
//	sha256-HEX                   a tarball of those bytes, unpacked into images/
//
// The first two name themselves; BuildImage makes the last two. A directory is
// used where it is: what changes in it later, the next command sees.
const hostImage = "host"

// imagesLock is shared while a sandbox is made, exclusive to delete an image.
const imagesLock = "images.lock"

// treeDeadline bounds one call that goes through a tree of files or a long one:
// to read a root file system, to unpack a tarball, to copy, to delete.
const treeDeadline = 30 * time.Minute

var (
	unpackedPattern = regexp.MustCompile(`^sha256-[0-9a-f]{64}$`)
	pinnedPattern   = regexp.MustCompile(`^(/.*)@(sha256-[0-9a-f]{64})$`)
)

// isImage reports what can be the reference of an image.
func isImage(image string) bool {
	return image == hostImage || unpackedPattern.MatchString(image) || filepath.IsAbs(image) && !strings.ContainsRune(image, 0)
}

// checkImage says what cannot be an image, without looking at the disk.
func (h *host) checkImage(image string) error {
	if image == "" || isImage(image) {
		dir, _ := splitPinned(image)
		return h.checkRoot(dir)
	}
	return fmt.Errorf("%q is not %q, the absolute path of a root file system directory, or the reference of a sandbox_image; "+
		"images of a registry cannot be used here: export one as a tarball", image, hostImage)
}

// checkRoot says which directory cannot be a root file system: it would lay open
// what is not an image's, or commands could change it.
func (h *host) checkRoot(dir string) error {
	if !filepath.IsAbs(dir) {
		return nil
	}
	sandboxes := filepath.Join(h.dir, sandboxesDir)
	switch dir = filepath.Clean(dir); {
	case dir == "/":
		return fmt.Errorf("\"/\" is this host's own root; %q shows its programs and nothing else", hostImage)
	case within(dir, sandboxes), within(sandboxes, dir):
		return fmt.Errorf("%q holds the sandboxes of this connection or is in one of them: name a directory that is only an image", dir)
	}
	return nil
}

// within reports whether the path dir is outer or below it.
func within(outer, dir string) bool { return strings.HasPrefix(dir+"/", outer+"/") }

// imageRoot returns the root file system of an image; empty: the host's.
func (st *state) imageRoot(image string) (string, error) {
	if image == hostImage {
		return "", nil
	}
	dir, _ := splitPinned(image)
	if unpackedPattern.MatchString(image) {
		dir = filepath.Join(st.Name(), imagesDir, image)
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: image %s does not exist (any more); build it with sandbox_image", backend.ErrInvalid, image)
	case err != nil:
		return "", err
	case !info.IsDir():
		return "", fmt.Errorf("%w: image %s is not a directory; a tarball is unpacked by sandbox_image", backend.ErrInvalid, dir)
	}
	return dir, nil
}

// checkUsable demands more of an image than imageRoot, before a sandbox is made
// of it.
func (st *state) checkUsable(ctx context.Context, image string) error {
	root, err := st.imageRoot(image)
	if err != nil || root == "" {
		return err
	}
	dir, want := splitPinned(image)
	if want == "" {
		return nil
	}
	got, err := fingerprint(ctx, dir)
	if err == nil && got != want {
		err = fmt.Errorf("%w: the root file system %s has changed since its sandbox_image was built; apply that again", backend.ErrInvalid, dir)
	}
	return err
}

// splitPinned splits the reference of a directory; pin is empty without one.
func splitPinned(image string) (dir, pin string) {
	if m := pinnedPattern.FindStringSubmatch(image); m != nil {
		return m[1], m[2]
	}
	return image, ""
}

// BuildImage pins a directory or unpacks a tarball.
func (h *host) BuildImage(ctx context.Context, spec backend.ImageSpec, log io.Writer) (string, error) {
	var reference string
	err := backend.Refused(h.RefuseImage(spec))
	if err == nil {
		err = h.Prepare(ctx)
	}
	if err == nil {
		call := backend.Call{Verb: "build-image", Idempotent: true, Deadline: treeDeadline}
		err = h.do(ctx, call, func(ctx context.Context, st *state) error {
			var err error
			reference, err = st.buildImage(ctx, spec, log)
			return err
		})
	}
	if err != nil {
		return "", h.failed("build an image from", spec.From, err)
	}
	return reference, nil
}

func (st *state) buildImage(ctx context.Context, spec backend.ImageSpec, log io.Writer) (string, error) {
	if spec.From == hostImage {
		return hostImage, nil
	}
	from := filepath.Clean(spec.From)
	info, err := os.Lstat(from)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	case info.IsDir():
		pin, err := fingerprint(ctx, from)
		return from + "@" + pin, err
	case info.Mode().IsRegular():
		return st.unpackOnce(ctx, from, log)
	}
	return "", fmt.Errorf("%w: neither a directory nor a file; name the target of a link", backend.ErrInvalid)
}

// HasImage reports whether a reference still means what it did.
func (h *host) HasImage(ctx context.Context, reference string) (bool, error) {
	has := false
	call := backend.Call{Verb: "has-image", Idempotent: true, Deadline: treeDeadline}
	err := h.do(ctx, call, func(ctx context.Context, st *state) error {
		var err error
		if isImage(reference) {
			err = st.checkUsable(ctx, reference)
			has = err == nil
		}
		if errors.Is(err, backend.ErrInvalid) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, h.failed("look for image", reference, err)
	}
	return has, nil
}

// DeleteImage removes an unpacked tarball that no sandbox uses. What is not in
// the state directory is not ours to delete.
func (h *host) DeleteImage(ctx context.Context, reference string) error {
	if !unpackedPattern.MatchString(reference) {
		return nil
	}
	call := backend.Call{Verb: "delete-image", Idempotent: true, Deadline: treeDeadline}
	err := h.do(ctx, call, func(ctx context.Context, st *state) error {
		lock, err := st.lock(ctx, imagesLock, exclusive)
		if err != nil {
			return err
		}
		defer lock.Close()
		if err := st.checkUnused(ctx, reference); err != nil {
			return err
		}
		trashed, err := st.moveToTrash(imagesDir, reference)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		return st.eraseTrash(ctx, trashed)
	})
	if err != nil {
		return h.failed("delete image", reference, err)
	}
	return nil
}

// checkUnused needs to read every record: one that cannot be read may be of a
// sandbox that uses the image.
func (st *state) checkUnused(ctx context.Context, image string) error {
	handles, err := st.names(sandboxesDir)
	if err != nil {
		return err
	}
	for _, handle := range handles {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		switch e, err := st.look(handle); {
		case err != nil:
			return err
		case e.Problem != "":
			return fmt.Errorf("%w: whether sandbox %s uses it cannot be told: %s", backend.ErrConflict, e.Handle, e.Problem)
		case e.record.Image == image:
			return fmt.Errorf("%w: sandbox %s uses it", backend.ErrConflict, e.Handle)
		}
	}
	return nil
}
