// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
)

// fingerprint identifies the content of the directory dir by what a listing
// shows: the path, type, permissions, size, modification time and link target
// of everything in it. It reads no file, so that it takes a moment even for a
// whole system.
func fingerprint(ctx context.Context, dir string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err := cmp.Or(err, context.Cause(ctx)); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() && engine.Replaces("/"+name) {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		target := ""
		if info.Mode()&fs.ModeSymlink != 0 {
			if target, err = os.Readlink(path); err != nil {
				return err
			}
		}
		if name == "." { // its time changes with the directories left out
			return nil
		}
		_, err = fmt.Fprintf(sum, "%q %v %d %d %q\n", name, info.Mode(), info.Size(), info.ModTime().UnixNano(), target)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the root file system %s: %w", dir, err)
	}
	return "sha256-" + hex.EncodeToString(sum.Sum(nil)), nil
}
