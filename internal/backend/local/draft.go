// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"os"
)

// draft is something in the making: a directory in staging whose lock its maker
// holds, which is how work in progress is told from what a crash left.
type draft struct {
	st   *state
	name string
	lock *os.File
}

// make makes and locks the directory.
func (d *draft) make(ctx context.Context) (folder, error) {
	dir, err := d.st.mkdir(stagingDir+"/"+d.name, searchable())
	if err != nil {
		return folder{}, err
	}
	if d.lock, err = dir.lock(ctx, metaLock, exclusive); err != nil {
		dir.Close()
		return folder{}, err
	}
	return dir, nil
}

// discard removes what was not moved to its place.
func (d *draft) discard() {
	if staging, err := d.st.folder.folder(stagingDir); err == nil {
		_ = staging.erase(d.name)
		staging.Close()
	}
	if d.lock != nil {
		d.lock.Close()
	}
}
