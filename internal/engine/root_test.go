// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// newRoot makes a root file system of nothing but the probe, with some entries
// of its own.
func newRoot(t *testing.T) string {
	t.Helper()
	root := filepath.Join(openDirectory(t), "root")
	for _, dir := range []string{"app/bin", "app/data", "etc", "home/other", "proc", "sys", "tmp"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	copyFile(t, probePath, filepath.Join(root, "app/bin/probe"))
	for name, content := range map[string]string{"etc/passwd": "image", "tmp/image": "", "sys/image": "", "home/other/file": ""} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("app/bin", filepath.Join(root, "bin")); err != nil {
		t.Fatal(err)
	}
	return root
}

// seen reports whether the probe sees path in a sandbox with spec.
func seen(t *testing.T, spec Spec, path string) bool {
	t.Helper()
	spec.Argv = []string{"/app/bin/probe", "see", path}
	exit, out := run(t, spec)
	if exit.Code != 0 && exit.Code != 3 {
		t.Fatalf("%s: %+v %s", path, exit, out)
	}
	return exit.Code == 0
}

func TestRootDirectoryReplacesTheHosts(t *testing.T) {
	spec := Spec{Root: newRoot(t), Work: newWork(t)}
	for path, want := range map[string]bool{
		"/bin/probe": true, "/home/other/file": true, "/workspace/probe": true, "/proc/self/status": true, "/dev/null": true, "/tmp": true,
		"/usr": false, "/etc/ssl": false, "/tmp/image": false, "/sys": false,
	} {
		if got := seen(t, spec, path); got != want {
			t.Errorf("%s: seen %t", path, got)
		}
	}
	for _, dir := range []string{"/", "/app", "/app/data", "/home", "/etc"} {
		spec.Argv = []string{"/app/bin/probe", "create", dir}
		if exit, out := run(t, spec); exit.Code != 3 || !strings.Contains(out, "read-only") {
			t.Errorf("%s: %+v %s", dir, exit, out)
		}
	}
}

func TestWorkdirMayBeAnywhereInARootDirectory(t *testing.T) {
	root, work := newRoot(t), newWork(t)
	for workdir, beside := range map[string]string{
		"/any/where":      "/bin/probe",
		"/home":           "/bin/probe",
		"/home/me":        "/home/other/file",
		"/home/me/deep":   "/home/other/file",
		"/app/data":       "/app/bin/probe",
		"/app/data/x/y/z": "/app/bin/probe",
		"/tmp/x":          "/bin/probe",
		"/usr/src/app":    "/bin/probe",
		"/etc/app":        "/etc/passwd",
	} {
		spec := Spec{Root: root, Work: work, Workdir: workdir}
		if !seen(t, spec, workdir+"/probe") || !seen(t, spec, beside) {
			t.Errorf("workdir %s: it, or %s beside it, is not there", workdir, beside)
		}
		spec.Argv = []string{"/app/bin/probe", "create", workdir}
		if exit, out := run(t, spec); exit.Code != 0 {
			t.Errorf("workdir %s is not writable: %s", workdir, out)
		}
	}
}

func TestWorkdirThroughALinkOfTheRootIsRefused(t *testing.T) {
	root := newRoot(t)
	if err := os.Symlink("/oldroot/tmp", filepath.Join(root, "data")); err != nil {
		t.Fatal(err)
	}
	for _, workdir := range []string{"/data/x", "/data/x/y"} {
		_, err := engineFor(t).Start(lent(Spec{Argv: []string{"true"}, Root: root, Workdir: workdir}))
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "/data, which is not a directory") {
			t.Errorf("%s: %v", workdir, err)
		}
	}
}

// TestLinksOfARootLeadNoMountAstray plants links where the engine puts files
// and directories: bubblewrap would follow them out to the host.
func TestLinksOfARootLeadNoMountAstray(t *testing.T) {
	target := openDirectory(t)
	if err := os.Chmod(target, 0o777); err != nil {
		t.Fatal(err)
	}
	astray := "/oldroot" + target // where bubblewrap keeps the host while it sets up
	for _, planted := range []string{"etc", "etc/passwd", "etc/resolv.conf", "workspace", "tmp", "proc"} {
		root := newRoot(t)
		if err := errors.Join(os.RemoveAll(filepath.Join(root, planted)), os.Symlink(astray, filepath.Join(root, planted))); err != nil {
			t.Fatal(err)
		}
		spec := Spec{Root: root, Work: newWork(t), Network: true}
		if !seen(t, spec, "/app/bin/probe") {
			t.Errorf("%s: the command did not run", planted)
		}
		if entries, err := os.ReadDir(target); err != nil || len(entries) > 0 {
			t.Errorf("%s: %v made on the host, %v", planted, entries, err)
		}
	}

	root := newRoot(t)
	if err := os.Symlink(astray, filepath.Join(root, "astray")); err != nil {
		t.Fatal(err)
	}
	run(t, Spec{Root: root, Argv: []string{"/app/bin/probe", "see", "/"}}, func(l *launch) {
		l.options = slices.Insert(l.options, slices.Index(l.options, "--proc"), "--dir", "/astray/made")
	})
	if _, err := os.Stat(filepath.Join(target, "made")); err != nil {
		t.Error("following a link does no harm, so this test shows nothing:", err)
	}
}

func TestRootThatIsClosedToTheLentUserIsRefused(t *testing.T) {
	root := newRoot(t)
	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	err := engineFor(t).Check(lent(Spec{Argv: []string{"/app/bin/probe", "see", "/"}, Root: root}))
	if os.Geteuid() != 0 {
		if err != nil {
			t.Error(err) // its own directory
		}
		return
	}
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "chmod o+rx") {
		t.Error(err)
	}
}
