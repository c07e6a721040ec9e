// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// What is in a state directory.
const (
	instanceFile = "instance.json"
	sandboxesDir = "sandboxes"
	imagesDir    = "images"
	stagingDir   = "staging"
	trashDir     = "trash"
)

// schema is the version of every JSON file here. A file of a newer one is left
// alone.
const schema = 1

// maxFile bounds our own JSON files, in bytes, when written and when read.
const maxFile = 1 << 20

// instance is who a state directory is: the witness without which an absent
// sandbox proves nothing.
type instance struct {
	Schema  int    `json:"schema"`
	ID      string `json:"id"`
	Machine string `json:"machine,omitempty"` // empty: the machine had no id
}

// state is an open state directory that is ours and of this machine.
type state struct {
	folder
	instance instance
}

// openState opens dir, which Prepare must have made. That it is missing is an
// error and never "there are no sandboxes".
func openState(dir string) (*state, error) {
	d, err := openOwn(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(dir)
	}
	if err != nil {
		return nil, err
	}
	in, err := readInstance(d)
	if errors.Is(err, fs.ErrNotExist) {
		err = cmp.Or(checkEmpty(d), missing(dir+"/"+instanceFile))
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return &state{d, in}, nil
}

func missing(path string) error {
	return fmt.Errorf("%w: %s does not exist; the first `terraform apply` makes it. If there were sandboxes in it, mount or restore it: "+
		"without it nothing can be said about them. If it is gone for good, so are they: take what Terraform's state names of it "+
		"out with `terraform state rm ADDRESS`, then apply again", backend.ErrUnavailable, path)
}

// openOwn opens the directory dir unless somebody else could rearrange it.
func openOwn(dir string) (folder, error) {
	d, err := openFolder(dir)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return folder{}, fmt.Errorf("%w: the state directory %s is a link or not a directory; name the directory itself", backend.ErrInvalid, dir)
	}
	if err != nil {
		return folder{}, err
	}
	if err := checkOwn(d, dir); err != nil {
		d.Close()
		return folder{}, err
	}
	return d, nil
}

func checkOwn(d folder, dir string) error {
	st, err := d.stat(".")
	switch {
	case err != nil:
		return err
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%w: the state directory %s belongs to user %d, not to user %d; run as that user or name another directory",
			backend.ErrUnauthorized, dir, st.Uid, os.Geteuid())
	case st.Mode&0o022 != 0:
		return fmt.Errorf("%w: other users can write to the state directory %s; chmod go-w it", backend.ErrInvalid, dir)
	}
	return nil
}

func readInstance(d folder) (instance, error) {
	var in instance
	data, err := d.read(instanceFile, maxFile)
	if err != nil {
		return in, err
	}
	path := d.Name() + "/" + instanceFile
	if err := json.Unmarshal(data, &in); err != nil || in.Schema < 1 || in.ID == "" {
		return in, fmt.Errorf("%w: %s is corrupt; restore it from a backup: the identity in it is what Terraform recorded", backend.ErrInvalid, path)
	}
	if in.Schema > schema {
		return in, fmt.Errorf("%w: %s has schema %d, made by a newer version; this one knows %d", backend.ErrUnsupported, path, in.Schema, schema)
	}
	if here := machine(); in.Machine != "" && in.Machine != here {
		return in, fmt.Errorf("%w: the state directory %s was made on another machine (%s, this is %s). "+
			"If this host has replaced that one, write \"machine\": %q in %s; if it is a copy of one that lives on, "+
			"name another directory here, and take what Terraform's state names of this one out with `terraform state rm ADDRESS`",
			backend.ErrConflict, d.Name(), in.Machine, here, here, path)
	}
	return in, nil
}

// machine identifies this machine without giving its confidential id away, as
// machine-id(5) asks.
func machine() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id"} {
		data, err := os.ReadFile(path)
		if id := strings.TrimSpace(string(data)); err == nil && len(id) == 32 {
			sum := sha256.Sum256([]byte("taskowned/sandbox " + id))
			return hex.EncodeToString(sum[:8])
		}
	}
	return ""
}
