// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// closed moves dir below a directory that nobody but its owner may search.
func closed(t *testing.T, dir string) string {
	t.Helper()
	above := openDirectory(t)
	if err := os.Rename(dir, filepath.Join(above, "it")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(above, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(above, "it")
}

func TestDirectoriesThatTheLentUserCannotSearchItsWayToAreReached(t *testing.T) {
	for name, root := range map[string]string{
		"the host's programs":                         "",
		"a root file system":                          newRoot(t),
		"a root file system below a closed directory": closed(t, newRoot(t)),
	} {
		t.Run(name, func(t *testing.T) {
			work := closed(t, newWork(t))
			link := filepath.Join(openDirectory(t), "link")
			if err := os.Symlink(work, link); err != nil {
				t.Fatal(err)
			}
			for _, work := range []string{work, link} {
				spec := Spec{Argv: []string{"/workspace/probe", "create", "/workspace"}, Root: root, Work: work}
				if exit, out := run(t, spec); exit.Code != 0 {
					t.Errorf("its files cannot be written: %+v %s", exit, out)
				}
				spec.Argv = []string{"/workspace/probe", "see", hall}
				if exit, out := run(t, spec); exit.Code != 3 {
					t.Errorf("the command sees %s: %+v %s", hall, exit, out)
				}
			}
		})
	}
}

func TestNobodyElseSeesWhatIsBoundAndNothingStaysBound(t *testing.T) {
	mounts := func() []byte {
		content, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	before := mounts()
	run(t, Spec{Argv: []string{"true"}, Work: closed(t, newWork(t))})
	if after := mounts(); !bytes.Equal(after, before) {
		t.Errorf("the mounts of the host are\n%s\nafter\n%s", after, before)
	}
	if os.Geteuid() != 0 {
		return
	}
	var inHall []byte
	err := onThread(hallStarter(), func() (err error) {
		inHall, err = os.ReadFile("/proc/thread-self/mountinfo")
		return err
	})
	if err != nil || strings.Count(string(inHall), " "+hall+" ") == 0 || strings.Contains(string(inHall), " "+hall+"/0 ") {
		t.Errorf("the mounts of the thread are\n%s\n%v", inHall, err)
	}
}

func TestRootThatMayNotBindIsToldWhatToOpen(t *testing.T) {
	if os.Geteuid() != 0 {
		return // its commands are itself
	}
	work := closed(t, newWork(t))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", self)
	cmd.Env = append(os.Environ(), weakVariable+"="+work)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "chmod o+x "+filepath.Dir(work)) {
		t.Errorf("%v\n%s", err, out)
	}
}

// weak returns what is said of a command whose files are in work.
func weak(work string) error {
	e, err := New()
	if err != nil {
		return err
	}
	return e.Check(lent(Spec{Argv: []string{"true"}, Work: work}))
}
