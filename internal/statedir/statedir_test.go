// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package statedir_test

import (
	"os"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/statedir"
)

func TestStateIsTheSystemsForRootAndElseTheUsers(t *testing.T) {
	for _, c := range []struct{ home, xdg, want string }{
		{"/home/ada", "", "/home/ada/.local/state/taskowned/janitor"},
		{"/home/ada", "/srv/state", "/srv/state/taskowned/janitor"},
		{"/home/ada", "relative", "/home/ada/.local/state/taskowned/janitor"},
		{"", "", ""},
		{"relative", "", ""},
	} {
		t.Setenv("HOME", c.home)
		t.Setenv("XDG_STATE_HOME", c.xdg)
		if os.Geteuid() == 0 {
			c.want = "/var/lib/taskowned/janitor"
		}
		got, err := statedir.Default("janitor")
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("HOME=%q XDG_STATE_HOME=%q: %q, %v; want %q", c.home, c.xdg, got, err, c.want)
		}
	}
}
