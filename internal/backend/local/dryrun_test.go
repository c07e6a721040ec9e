// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestDryRunOfAPlaceSaysWhatPreparingItWouldSay(t *testing.T) {
	for name, tc := range map[string]struct {
		make func(t *testing.T, dir string)
		want string // empty: it can be prepared
	}{
		"missing":   {make: func(*testing.T, string) {}},
		"empty":     {make: func(t *testing.T, dir string) { must(t, os.Mkdir(dir, 0o700)) }},
		"a state":   {make: func(t *testing.T, dir string) { must(t, prepare(dir)) }},
		"a file":    {func(t *testing.T, dir string) { must(t, os.WriteFile(dir, nil, 0o600)) }, "not a directory"},
		"a link":    {func(t *testing.T, dir string) { must(t, os.Symlink(t.TempDir(), dir)) }, "is a link"},
		"foreign":   {func(t *testing.T, dir string) { must(t, os.MkdirAll(dir+"/other", 0o700)) }, "not a state directory"},
		"a dangler": {func(t *testing.T, dir string) { must(t, os.Symlink("nowhere", dir)) }, "is a link"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := place(t)
			tc.make(t, dir)
			before, _ := filepath.Glob(dir + "/*")
			h := newHost(dir, &backend.Caller{}, clock.NewFake(start))
			err := h.DryRunPrepare(t.Context())
			if after, _ := filepath.Glob(dir + "/*"); len(after) != len(before) {
				t.Errorf("the dry run left %v of %v", after, before)
			}
			if tc.want == "" {
				must(t, err)
				must(t, prepare(dir))
				return
			}
			wantError(t, err, backend.ErrInvalid, tc.want)
			wantError(t, prepare(dir), backend.ErrInvalid, tc.want)
		})
	}
}

func TestDryRunOfABuildSaysWhatBuildingWouldSay(t *testing.T) {
	whole := packed(t, true, tar.Header{Name: "usr/", Typeflag: tar.TypeDir}, tar.Header{Name: "usr/file", Typeflag: tar.TypeReg})
	data, err := os.ReadFile(whole)
	must(t, err)
	torn := filepath.Join(t.TempDir(), "torn.tar")
	must(t, os.WriteFile(torn, data[:len(data)/2], 0o600))
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(whole, link))
	for name, from := range map[string]string{
		"whole": whole, "torn": torn, "a link": link, "missing": "/no/such.tar", "a directory": rootfs(t), "the host": hostImage,
		"outside":  packed(t, false, tar.Header{Name: "../x", Typeflag: tar.TypeReg}),
		"a device": packed(t, false, tar.Header{Name: "disk", Typeflag: tar.TypeBlock}),
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := testHost(t, place(t))
			spec := backend.ImageSpec{From: from}
			dry := h.DryRunBuildImage(t.Context(), spec)
			_, built := h.BuildImage(t.Context(), spec, io.Discard)
			switch {
			case (dry == nil) != (built == nil), dry != nil && dry.Error() != built.Error():
				t.Errorf("the dry run says %v, the build %v", dry, built)
			}
		})
	}
}

func TestDryRunOfACreationSaysWhatCreatingWouldSay(t *testing.T) {
	h := realHost(t)
	missing := sandbox.Spec{Image: "/no/such/root"}
	wantError(t, h.DryRunCreate(t.Context(), missing), backend.ErrInvalid, "does not exist")
	must(t, h.DryRunCreate(t.Context(), sandbox.Spec{}))
	if _, err := os.Stat(h.dir); !os.IsNotExist(err) {
		t.Errorf("the dry run made the state directory: %v", err)
	}
	image := rootfs(t)
	must(t, h.Prepare(t.Context()))
	pinned := build(t, h, image)
	must(t, h.DryRunCreate(t.Context(), sandbox.Spec{Image: pinned}))
	must(t, os.WriteFile(image+"/new", nil, 0o600))
	wantError(t, h.DryRunCreate(t.Context(), sandbox.Spec{Image: pinned}), backend.ErrInvalid, "has changed")
	wantError(t, h.DryRunCreate(t.Context(), sandbox.Spec{Image: "sha256-" + strings.Repeat("0", 64)}), backend.ErrInvalid, "does not exist")
}
