// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"archive/tar"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend/backendtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

func TestLocalSandboxesKeepEveryPromise(t *testing.T) {
	here, there := place(t), place(t)
	opener := func(dir string) func(*testing.T, *backend.Caller) backend.Backend {
		return func(_ *testing.T, caller *backend.Caller) backend.Backend {
			return newHost(dir, caller, clock.System())
		}
	}
	backendtest.Run(t, backendtest.Factory{
		Open:      opener(here),
		Elsewhere: opener(there),
		Image:     backend.ImageSpec{From: tarball(t, rootfs(t))},
		Reach:     reach(t),
		Leave: func(t *testing.T) {
			if err := os.Mkdir(filepath.Join(here, stagingDir, "half-made"), 0o711); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// reach returns a command that succeeds in the host's network, where it finds a
// port that is listened on.
func reach(t *testing.T) []string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return []string{"grep", "-q", fmt.Sprintf(":%04X 00000000:0000 0A", listener.Addr().(*net.TCPAddr).Port), "/proc/self/net/tcp"}
}

// rootfs returns a root file system directory that holds the host's shell and
// what it is linked to.
func rootfs(t *testing.T) string {
	t.Helper()
	dir := place(t)
	linked, err := exec.Command("ldd", "/bin/sh").Output()
	if err != nil {
		t.Fatalf("ldd /bin/sh: %v", err)
	}
	for _, file := range append(regexp.MustCompile(`/\S+`).FindAllString(string(linked), -1), "/bin/sh") {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(dir+file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+file, content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tarball packs a directory.
func tarball(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	archive := tar.NewWriter(f)
	if err := archive.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}
