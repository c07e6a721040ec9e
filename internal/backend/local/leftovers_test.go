// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestWorkInProgressIsALeftoverInUse(t *testing.T) {
	h, _ := testHost(t, place(t))
	st, err := openState(h.dir)
	must(t, err)
	defer st.Close()
	making := &draft{st: st, name: "being-made"}
	dir, err := making.make(t.Context())
	must(t, err)
	must(t, dir.Close())

	left := leftovers(t, h)
	if len(left) != 1 || !left[0].InUse || left[0].Kind != stagingDir || left[0].Path != filepath.Join(h.dir, stagingDir, "being-made") {
		t.Fatalf("leftovers %+v, want one that is in use", left)
	}
	if age := clock.System().Now().Sub(left[0].ChangedAt); age < -time.Minute || age > time.Minute {
		t.Errorf("changed at %s", left[0].ChangedAt)
	}
	wantError(t, h.Remove(t.Context(), left[0]), backend.ErrConflict, "in use")
	must(t, making.lock.Close()) // its maker dies
	must(t, h.Remove(t.Context(), left[0]))
	must(t, h.Remove(t.Context(), left[0]))
	if left := leftovers(t, h); len(left) > 0 {
		t.Errorf("leftovers %+v, want none", left)
	}
}

func TestLeftoverThatIsAnotherByNowIsNotRemoved(t *testing.T) {
	h, _ := testHost(t, place(t))
	path := filepath.Join(h.dir, trashDir, "x")
	must(t, os.Mkdir(path, 0o700))
	listed := leftovers(t, h)[0]
	must(t, os.Rename(path, path+"-moved"))
	must(t, os.Mkdir(path, 0o700))
	wantError(t, h.Remove(t.Context(), listed), backend.ErrConflict, "another one")
	if len(leftovers(t, h)) != 2 {
		t.Error("something was removed")
	}
}

func TestLeftoverThatIsNoneOfOursIsReportedAndKept(t *testing.T) {
	h, _ := testHost(t, place(t))
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "kept"), nil, 0o600))
	must(t, os.Symlink(outside, filepath.Join(h.dir, trashDir, "link")))
	must(t, os.WriteFile(filepath.Join(h.dir, stagingDir, "file"), nil, 0o600))
	left := leftovers(t, h)
	if len(left) != 2 {
		t.Fatalf("leftovers %+v, want both", left)
	}
	for _, l := range left {
		if l.Problem == "" {
			t.Errorf("%s has no problem", l.Handle)
		}
		wantError(t, h.Remove(t.Context(), l), backend.ErrConflict, l.Problem)
		if _, err := os.Lstat(l.Path); err != nil {
			t.Error(err)
		}
	}
	for _, handle := range []string{"", "staging", "staging/", "trash/..", "sandboxes/x", "trash/a/b", "images/x"} {
		wantError(t, h.Remove(t.Context(), sandbox.Leftover{Ref: sandbox.Ref{Handle: handle}}), backend.ErrInvalid, "")
	}
}
