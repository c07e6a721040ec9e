// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"slices"
	"strings"
	"testing"
)

// operands says how many values follow an option; the others have one.
var operands = map[string]int{
	"--unshare-user": 0, "--unshare-pid": 0, "--unshare-ipc": 0, "--unshare-uts": 0, "--unshare-cgroup-try": 0, "--unshare-net": 0,
	"--disable-userns": 0, "--new-session": 0, "--die-with-parent": 0, "--clearenv": 0,
	"--setenv": 2, "--bind": 2, "--ro-bind": 2, "--ro-bind-try": 2, "--ro-bind-data": 2, "--symlink": 2,
}

// FuzzSpecAddsNoOption reads the options as bubblewrap does: whatever strings a
// spec is made of, they stay values.
func FuzzSpecAddsNoOption(f *testing.F) {
	f.Add("A", "b", "/workspace", "/")
	f.Add("--bind", "/", "/--share-net", "/x")
	f.Add("A", "\n--setenv\nB", "/w\t", "/--args")
	f.Fuzz(func(t *testing.T, key, value, workdir, dir string) {
		spec := Spec{Argv: []string{"true"}, Env: map[string]string{key: value}, Workdir: workdir, Dir: dir, HostUID: 1, HostGID: 1}
		spec, err := spec.complete(0, 0)
		if err != nil {
			return // refused
		}
		l, err := engineFor(t).plan(spec)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.Join(l.options, ""), "\x00") {
			t.Fatalf("%q holds a separator", l.options)
		}
		seen := map[string]int{}
		for rest := l.options; len(rest) > 0; {
			option := rest[0]
			if !slices.Contains(requiredOptions, option) {
				t.Fatalf("%q stands where an option does", option)
			}
			seen[option]++
			n, ok := operands[option]
			if !ok {
				n = 1
			}
			rest = rest[1+n:]
		}
		if seen["--bind"] != 0 || seen["--unshare-net"] != 1 || seen["--seccomp"] != 1 || seen["--remount-ro"] != 2 {
			t.Errorf("%v", seen)
		}
	})
}
