// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

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
