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
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestWhateverACommandLeavesIsDeletedAndNothingElse(t *testing.T) {
	h := realHost(t)
	made := create(t, h, nil)
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.MkdirAll(filepath.Join(outside, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(outside, "sub", "kept"), []byte("kept"), 0o644))

	script := fmt.Sprintf(`
ln -s '%[1]s' link && ln -s '%[1]s/sub/kept' file-link && ln -s loop loop && mkfifo fifo
mkdir -p closed/inner read-only/inner && touch closed/inner/f read-only/inner/f && ln -s '%[1]s' closed/inner/link
i=0; deep=deep; mkdir deep; cd deep
while [ $i -lt 300 ]; do mkdir 0123456789012345678901234567890123456789 && cd 0123456789012345678901234567890123456789; i=$((i+1)); done
touch bottom; cd /workspace
chmod 0555 read-only/inner read-only; chmod 0 closed/inner closed
touch "$(printf 'line\nline')" -- -rf`, outside)
	got, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"sh", "-c", script}, Timeout: time.Minute})
	if err != nil || got.ExitCode != 0 {
		t.Fatalf("%+v, %v, stderr %s", got, err, got.Stderr)
	}
	must(t, h.Destroy(t.Context(), made.Ref))
	if entries, err := os.ReadDir(filepath.Join(h.dir, trashDir)); err != nil || len(entries) > 0 {
		t.Errorf("the trash holds %v, %v", entries, err)
	}
	if kept, err := os.ReadFile(filepath.Join(outside, "sub", "kept")); err != nil || string(kept) != "kept" {
		t.Errorf("a link was followed: %q, %v", kept, err)
	}
}

func TestMountInASandboxIsNotEmptiedButReported(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	for _, at := range []string{workDir, filepath.Join(workDir, "a/b")} {
		t.Run(at, func(t *testing.T) {
			h, _ := testHost(t, place(t))
			made := create(t, h, nil)
			mounted := filepath.Join(h.dir, sandboxesDir, made.Handle, at)
			must(t, os.MkdirAll(mounted, 0o755))
			must(t, unix.Mount("tmpfs", mounted, "tmpfs", 0, "size=64k"))
			defer func() { _ = unix.Unmount(mounted, unix.MNT_DETACH) }()
			kept := filepath.Join(mounted, "kept")
			must(t, os.WriteFile(kept, nil, 0o600))

			_ = h.Destroy(t.Context(), made.Ref)
			left := leftovers(t, h)
			if len(left) != 1 || left[0].Kind != trashDir {
				t.Fatalf("leftovers %+v, want one in the trash", left)
			}
			wantError(t, h.Remove(t.Context(), left[0]), unix.EXDEV, "unmount it first")
			must(t, filepath.WalkDir(left[0].Path, func(path string, d fs.DirEntry, err error) error {
				if d.Name() == "kept" {
					kept = ""
				}
				return err
			}))
			if kept != "" {
				t.Error("the mount was emptied")
			}
			must(t, unmountBelow(left[0].Path))
			must(t, h.Remove(t.Context(), left[0]))
			wantCleanEnd(t, h)
		})
	}
}

// unmountBelow unmounts what is mounted below dir.
func unmountBelow(dir string) error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(mounts)) {
		if at := strings.Fields(line)[1]; strings.HasPrefix(at, dir+"/") {
			return unix.Unmount(at, 0)
		}
	}
	return fmt.Errorf("nothing is mounted below %s", dir)
}

func leftovers(t *testing.T, h *host) []sandbox.Leftover {
	t.Helper()
	var all []sandbox.Leftover
	for l, err := range h.Leftovers(t.Context()) {
		must(t, err)
		all = append(all, l)
	}
	return all
}

func TestFullDiskIsAnErrorLosesNothingAndCanBeFreed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := place(t)
	must(t, os.Mkdir(dir, 0o711))
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=0711"))
	t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	h, _ := testHost(t, dir)
	made := create(t, h, sandbox.Tags{"kept": "yes"})
	other := create(t, h, nil)

	fill := h.WriteFile(t.Context(), made.Ref, "/workspace/fill", endless{})
	wantError(t, fill, backend.ErrUnavailable, "no space left")
	ballast, err := os.Create(filepath.Join(dir, "ballast"))
	must(t, err)
	for err == nil {
		_, err = ballast.Write(make([]byte, 512))
	}
	must(t, ballast.Close())

	before := list(t, h)
	wantError(t, h.SetTags(t.Context(), made.Ref, sandbox.Tags{"long": strings.Repeat("x", 8192)}), unix.ENOSPC, "no space left")
	wantError(t, h.WriteFile(t.Context(), made.Ref, "/workspace/x", strings.NewReader("x")), backend.ErrUnavailable, "no space left")
	_, err = backend.Create(t.Context(), h, request(h, nil))
	wantError(t, err, unix.ENOSPC, "no space left")
	if after := list(t, h); len(after) != len(before) || after[0].Problem != "" || after[1].Problem != "" {
		t.Errorf("afterwards %+v", after)
	}
	if left := leftovers(t, h); len(left) > 0 {
		t.Errorf("left behind: %+v", left)
	}
	must(t, h.Destroy(t.Context(), other.Ref))
	must(t, os.Remove(ballast.Name()))
	must(t, h.SetTags(t.Context(), made.Ref, sandbox.Tags{"kept": "still"}))
	must(t, h.Destroy(t.Context(), made.Ref))
}

// endless is a file that fits nowhere.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestDeletingATreeEndsWithItsContextAndGoesOnAnotherTime(t *testing.T) {
	dir := place(t)
	must(t, os.MkdirAll(filepath.Join(dir, "tree/a/b/c"), 0o700))
	d, err := openFolder(dir)
	must(t, err)
	defer d.Close()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := d.erase(ended, "tree"); !errors.Is(err, context.Canceled) {
		t.Errorf("erase = %v, want canceled", err)
	}
	must(t, d.erase(t.Context(), "tree"))
	if _, err := os.Lstat(filepath.Join(dir, "tree")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}
