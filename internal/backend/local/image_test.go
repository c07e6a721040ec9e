// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// packed returns a tarball of entries; regular files hold their own name.
func packed(t *testing.T, compress bool, entries ...tar.Header) string {
	t.Helper()
	var buf bytes.Buffer
	var to io.Writer = &buf
	zipped := gzip.NewWriter(&buf)
	if compress {
		to = zipped
	}
	archive := tar.NewWriter(to)
	for _, header := range entries {
		if header.Typeflag == tar.TypeReg {
			header.Size = int64(len(header.Name))
		}
		if header.Mode == 0 {
			header.Mode = 0o755
		}
		must(t, archive.WriteHeader(&header))
		if header.Typeflag == tar.TypeReg {
			_, err := archive.Write([]byte(header.Name))
			must(t, err)
		}
	}
	must(t, archive.Close())
	if compress {
		must(t, zipped.Close())
	}
	path := filepath.Join(t.TempDir(), "image.tar")
	must(t, os.WriteFile(path, buf.Bytes(), 0o644))
	return path
}

func build(t *testing.T, h *host, from string) string {
	t.Helper()
	reference, err := h.BuildImage(t.Context(), backend.ImageSpec{From: from}, io.Discard)
	must(t, err)
	return reference
}

func TestTarballIsUnpackedAsARootFileSystem(t *testing.T) {
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, compress := range []bool{false, true} {
		h, _ := testHost(t, place(t))
		reference := build(t, h, packed(t, compress,
			tar.Header{Name: "./", Typeflag: tar.TypeDir},
			tar.Header{Name: "./usr/bin/", Typeflag: tar.TypeDir, Mode: 0o555},
			tar.Header{Name: "./usr/bin/tool", Typeflag: tar.TypeReg, Mode: 0o6755, ModTime: old},
			tar.Header{Name: "bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"},
			tar.Header{Name: "etc/shadow-link", Typeflag: tar.TypeSymlink, Linkname: "/etc/shadow"},
			tar.Header{Name: "bin/same", Typeflag: tar.TypeLink, Linkname: "./usr/bin/tool"},
			tar.Header{Name: "/absolute", Typeflag: tar.TypeReg},
			tar.Header{Name: "twice", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
			tar.Header{Name: "twice", Typeflag: tar.TypeReg},
			tar.Header{Name: "dev/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3},
		))
		root := filepath.Join(h.dir, imagesDir, reference)
		for name, want := range map[string]string{
			"usr/bin": "dr-xr-xr-x", "usr/bin/tool": "-rwxr-xr-x", "usr/bin/same": "-rwxr-xr-x", "absolute": "-rwxr-xr-x",
			"twice": "-rwxr-xr-x", "bin": "Lrwxrwxrwx", "etc/shadow-link": "Lrwxrwxrwx",
		} {
			info, err := os.Lstat(filepath.Join(root, name))
			must(t, err)
			// Directories stay writable for whoever deletes them.
			if got := strings.Replace(info.Mode().String(), "drwx", "dr-x", 1); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		}
		if info, err := os.Stat(filepath.Join(root, "usr/bin/tool")); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("a file's time is %v, %v; want it kept", info.ModTime(), err)
		}
		if _, err := os.Lstat(filepath.Join(root, "dev/null")); err == nil {
			t.Error("a device was made")
		}
		if left := leftovers(t, h); len(left) > 0 {
			t.Errorf("left behind: %+v", left)
		}
	}
}

func TestHostileTarballIsRefusedAndReachesNothing(t *testing.T) {
	outside := t.TempDir()
	canary := filepath.Join(outside, "canary")
	must(t, os.WriteFile(canary, []byte("kept"), 0o644))
	reg := func(name string) tar.Header { return tar.Header{Name: name, Typeflag: tar.TypeReg} }
	for name, entries := range map[string][]tar.Header{
		"up":                      {reg("../canary")},
		"up in the middle":        {reg("a/../../canary")},
		"through a link":          {{Name: "out", Typeflag: tar.TypeSymlink, Linkname: outside}, reg("out/canary")},
		"through a relative link": {{Name: "out", Typeflag: tar.TypeSymlink, Linkname: strings.Repeat("../", 20) + outside}, reg("out/canary")},
		"hard link":               {{Name: "out", Typeflag: tar.TypeSymlink, Linkname: outside}, {Name: "same", Typeflag: tar.TypeLink, Linkname: "out/canary"}},
		"a device":                {{Name: "sda", Typeflag: tar.TypeBlock, Devmajor: 8}},
		"a pipe":                  {{Name: "pipe", Typeflag: tar.TypeFifo}},
		"nothing":                 {},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := testHost(t, place(t))
			if got, err := h.BuildImage(t.Context(), backend.ImageSpec{From: packed(t, false, entries...)}, io.Discard); err == nil {
				t.Errorf("BuildImage = %s, want an error", got)
			}
			if content, err := os.ReadFile(canary); err != nil || string(content) != "kept" {
				t.Errorf("outside: %q, %v", content, err)
			}
			for _, dir := range []string{imagesDir, stagingDir} {
				if entries, err := os.ReadDir(filepath.Join(h.dir, dir)); err != nil || len(entries) > 0 {
					t.Errorf("%s holds %v, %v", dir, entries, err)
				}
			}
		})
	}
}

func TestWhatIsNoImageIsRefusedWithWhatToDo(t *testing.T) {
	h, _ := testHost(t, place(t))
	text := filepath.Join(t.TempDir(), "text.tar")
	must(t, os.WriteFile(text, bytes.Repeat([]byte("no archive "), 1000), 0o644))
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink("/", link))
	for from, want := range map[string]string{
		text:                "not a tarball",
		link:                "name the target of a link",
		"/no/such/file.tar": "no such file",
		"python:3.12":       "registry",
	} {
		_, err := h.BuildImage(t.Context(), backend.ImageSpec{From: from}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("BuildImage(%s): %v; want it to say %q", from, err, want)
		}
	}
	for image, want := range map[string]string{
		"/no/such/dir":                      "does not exist",
		text:                                "unpacked by sandbox_image",
		"sha256-" + strings.Repeat("0", 64): "build it with sandbox_image",
	} {
		req := request(h, nil)
		req.Spec.Image = image
		_, err := backend.Create(t.Context(), h, req)
		wantError(t, err, backend.ErrInvalid, want)
		if has, err := h.HasImage(t.Context(), image); err != nil || has {
			t.Errorf("HasImage(%s) = %v, %v", image, has, err)
		}
	}
}

func TestPinnedDirectoryIsAnImageUntilItChanges(t *testing.T) {
	h := realHost(t)
	dir := rootfs(t)
	reference := build(t, h, dir)
	if again := build(t, h, dir); again != reference || !strings.HasPrefix(reference, dir+"@sha256-") {
		t.Errorf("built %s, then %s", reference, again)
	}
	req := request(h, nil)
	req.Spec.Image = reference
	made := createFrom(t, h, req)
	got, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"/bin/sh", "-c", "echo /*"}, Timeout: time.Minute})
	if err != nil || strings.Contains(string(got.Stdout), "/usr ") && !isDir(dir+"/usr") {
		t.Errorf("%+v, %v: want the entries of the image", got, err)
	}
	must(t, os.MkdirAll(dir+"/tmp/scratch", 0o755)) // replaced inside anyway
	if has, err := h.HasImage(t.Context(), reference); err != nil || !has {
		t.Errorf("HasImage = %v, %v; want true", has, err)
	}
	must(t, h.DeleteImage(t.Context(), reference)) // it is the user's, so it stays

	must(t, os.WriteFile(dir+"/bin/new", nil, 0o755))
	if has, err := h.HasImage(t.Context(), reference); err != nil || has {
		t.Errorf("after a change HasImage = %v, %v; want false", has, err)
	}
	req = request(h, nil)
	req.Spec.Image = reference
	_, err = backend.Create(t.Context(), h, req)
	wantError(t, err, backend.ErrInvalid, "has changed")
	if changed := build(t, h, dir); changed == reference {
		t.Error("a changed directory has the old reference")
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func TestImageIsKeptWhileASandboxMayUseIt(t *testing.T) {
	h, _ := testHost(t, place(t))
	reference := build(t, h, packed(t, true, tar.Header{Name: "etc/", Typeflag: tar.TypeDir}))
	req := request(h, nil)
	req.Spec.Image = reference
	made := createFrom(t, h, req)
	wantError(t, h.DeleteImage(t.Context(), reference), backend.ErrConflict, made.Handle)

	spoilRecord("")(t, filepath.Join(h.dir, sandboxesDir, made.Handle))
	wantError(t, h.DeleteImage(t.Context(), reference), backend.ErrConflict, "cannot be told")
	must(t, os.RemoveAll(filepath.Join(h.dir, sandboxesDir, made.Handle)))
	must(t, h.DeleteImage(t.Context(), reference))
	if has, err := h.HasImage(t.Context(), reference); err != nil || has {
		t.Errorf("HasImage = %v, %v", has, err)
	}
	wantCleanEnd(t, h)
}

func TestReadingARootFileSystemEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fingerprint(ctx, rootfs(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("fingerprint = %v, want canceled", err)
	}
}

func TestCreateReadsItsImageWithinACallThatHasADeadline(t *testing.T) {
	h, _ := testHost(t, place(t))
	image := build(t, h, rootfs(t))
	var within time.Duration
	h.caller.Intercept = func(ctx context.Context, call backend.Call, attempt func(context.Context) error) error {
		if call.Verb == "check-image" {
			within = call.Deadline
		}
		return attempt(ctx)
	}
	req := request(h, nil)
	req.Spec.Image = image
	createFrom(t, h, req)
	if within != treeDeadline {
		t.Errorf("the image was read within %s, want %s", within, treeDeadline)
	}
}
