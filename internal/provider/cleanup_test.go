// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// withoutBubblewrap runs terraform where bubblewrap cannot be used: a mount
// that only its processes see covers it.
func (ws *workspace) withoutBubblewrap(args ...string) (output string, code int) {
	ws.t.Helper()
	bubblewrap, err := exec.LookPath("bwrap")
	if err != nil {
		ws.t.Fatal(err)
	}
	namespaces := []string{"--mount"}
	if os.Geteuid() != 0 {
		namespaces = append(namespaces, "--map-root-user")
	}
	terraform := ws.command(nil, append(args, "-no-color")...)
	line := append(namespaces, "sh", "-c", `mount --bind /dev/null "$0" && exec "$@"`, bubblewrap)
	cmd := exec.Command("unshare", append(line, terraform.Args...)...)
	cmd.Dir, cmd.Env = terraform.Dir, terraform.Env
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		ws.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestWithoutBubblewrapWhatExistsIsReadAndDestroyedButNothingIsMade(t *testing.T) {
	w := newWorld(t)
	tarball := w.rootfs("rootfs.tar", "x")
	ws := w.workspace(fmt.Sprintf(`
resource "sandbox_connection" "here" {
  local = { directory = %q }
}
resource "sandbox_image" "it" {
  connection_uri    = sandbox_connection.here.uri
  from              = %q
  delete_on_destroy = true
}
resource "sandbox_instance" "it" {
  connection_uri = sandbox_connection.here.uri
  image          = sandbox_image.it.reference
  lifetime       = "1h"
}
`, w.dir, tarball))
	ws.apply()
	for _, args := range [][]string{
		{"plan", "-detailed-exitcode"},
		{"apply", "-refresh-only", "-auto-approve"},
		{"destroy", "-auto-approve"},
	} {
		if out, code := ws.withoutBubblewrap(args...); code != 0 {
			t.Fatalf("terraform %s: exit %d\n%s", strings.Join(args, " "), code, out)
		}
	}
	if left := w.sandboxes(); len(left) > 0 {
		t.Errorf("%d sandboxes are left", len(left))
	}
	for _, config := range []string{
		fmt.Sprintf("resource \"sandbox_connection\" \"here\" {\n  local = { directory = %q }\n}\n", w.dir),
		w.instance(),
	} {
		ws.configure(config)
		out, code := ws.withoutBubblewrap("apply", "-auto-approve")
		if code != 1 || !strings.Contains(strings.Join(strings.Fields(out), " "), "apt-get install bubblewrap") {
			t.Errorf("apply: exit %d, and it does not say what to install:\n%s", code, out)
		}
	}
	if left := w.sandboxes(); len(left) > 0 {
		t.Errorf("%d sandboxes were made", len(left))
	}
}
