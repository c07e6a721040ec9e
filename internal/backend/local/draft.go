// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"os"
	"time"
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

// discardWithin bounds how long what was given up is deleted, also when it was
// an interrupt; what remains then is a Leftover.
const discardWithin = 10 * time.Second

// discard removes what was not moved to its place.
func (d *draft) discard(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardWithin)
	defer cancel()
	if staging, err := d.st.folder.folder(stagingDir); err == nil {
		_ = staging.erase(ctx, d.name)
		staging.Close()
	}
	if d.lock != nil {
		d.lock.Close()
	}
}
