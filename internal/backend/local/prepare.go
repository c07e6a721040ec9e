// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Prepare makes the state directory, once one command has really been isolated.
// A directory that holds anything else is refused.
func (h *host) Prepare(ctx context.Context) error {
	err := h.call(ctx, read("prepare"), func(ctx context.Context) error {
		if _, err := h.isolation(ctx); err != nil {
			return err
		}
		return prepare(h.dir)
	})
	if err != nil {
		return h.failed("prepare", "", err)
	}
	return nil
}

// searchable is the mode of directories on the way to a workspace: when root is
// the caller, each sandbox has a host user of its own, who must pass.
func searchable() os.FileMode {
	if os.Geteuid() == 0 {
		return 0o711
	}
	return 0o700
}

func prepare(dir string) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	d, err := openOwn(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	switch _, err := readInstance(d); {
	case errors.Is(err, fs.ErrNotExist):
		if err := initialise(d); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	for name, perm := range map[string]os.FileMode{
		sandboxesDir: searchable(), imagesDir: searchable(), stagingDir: 0o700, trashDir: 0o700,
	} {
		made, err := d.ensure(name, perm)
		if err != nil {
			return err
		}
		made.Close()
	}
	return d.Sync()
}

func makeDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// initialise makes d a state directory. Of two processes that try, one wins:
// the link can be made once.
func initialise(d folder) error {
	if err := checkEmpty(d); err != nil {
		return err
	}
	if err := d.Chmod(searchable()); err != nil {
		return err
	}
	data, err := json.MarshalIndent(instance{Schema: schema, ID: sandbox.NewMark(), Machine: machine()}, "", "  ")
	if err != nil {
		return err
	}
	draft := draftPrefix + sandbox.NewMark()
	defer d.unlink(draft)
	if err := d.writeSynced(draft, append(data, '\n')); err != nil {
		return err
	}
	err = unix.Linkat(int(d.Fd()), draft, int(d.Fd()), instanceFile, 0)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return d.failed("make", instanceFile, err)
	}
	_, err = readInstance(d)
	return err
}

// draftPrefix begins the name of an instance file in the making.
const draftPrefix = ".instance-"

// checkEmpty refuses a directory that holds what is not ours, unless somebody has
// made it a state directory meanwhile.
func checkEmpty(d folder) error {
	names, err := d.names(".")
	if err != nil {
		return err
	}
	for _, name := range names {
		if name == "lost+found" || name == instanceFile || strings.HasPrefix(name, draftPrefix) {
			continue
		}
		if _, err := d.stat(instanceFile); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s is not a state directory: it holds %q, and no %s. Name an empty or a new directory; if it was one, restore that file",
				backend.ErrInvalid, d.Name(), name, instanceFile)
		}
	}
	return nil
}
