// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestWrongSpecIsRefusedBeforeAnythingStarts(t *testing.T) {
	dir := openDirectory(t)
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spec  Spec
		words string
	}{
		{"no argv", Spec{}, "names no program"},
		{"empty program", Spec{Argv: []string{"", "x"}}, "names no program"},
		{"NUL in argument", Spec{Argv: []string{"true", "a\x00b"}}, "argument 1 holds a NUL"},
		{"argument too long", Spec{Argv: []string{"true", strings.Repeat("a", 128<<10)}}, "argument 1 is 131072 bytes long"},
		{"NUL in value", Spec{Argv: []string{"true"}, Env: map[string]string{"A": "b\x00--bind"}}, `"A" holds a NUL`},
		{"NUL in name", Spec{Argv: []string{"true"}, Env: map[string]string{"A\x00": "b"}}, "holds a NUL"},
		{"empty name", Spec{Argv: []string{"true"}, Env: map[string]string{"": "b"}}, "is empty"},
		{"= in name", Spec{Argv: []string{"true"}, Env: map[string]string{"A=B": "c"}}, "holds '='"},
		{"variable too long", Spec{Argv: []string{"true"}, Env: map[string]string{"A": strings.Repeat("a", 128<<10)}}, "131074 bytes long"},
		{"relative dir", Spec{Argv: []string{"true"}, Dir: "x"}, `directory "x"`},
		{"NUL in dir", Spec{Argv: []string{"true"}, Dir: "/x\x00"}, "clean absolute path"},
		{"relative workdir", Spec{Argv: []string{"true"}, Workdir: "x"}, `workdir "x"`},
		{"workdir with dots", Spec{Argv: []string{"true"}, Workdir: "/x/../usr"}, "clean absolute path"},
		{"workdir is the root", Spec{Argv: []string{"true"}, Workdir: "/"}, "path of its own"},
		{"workdir is /tmp", Spec{Argv: []string{"true"}, Workdir: "/tmp"}, "path of its own"},
		{"workdir in the system", Spec{Argv: []string{"true"}, Workdir: "/usr/local/x"}, "belongs to the system"},
		{"workdir over /proc", Spec{Argv: []string{"true"}, Workdir: "/proc"}, "belongs to the system"},
		{"workdir that breaks lines", Spec{Argv: []string{"true"}, Workdir: "/x\nroot"}, "a line break"},
		{"relative work", Spec{Argv: []string{"true"}, Work: "x"}, "not an absolute path"},
		{"missing work", Spec{Argv: []string{"true"}, Work: dir + "/none"}, "no such file"},
		{"work is a file", Spec{Argv: []string{"true"}, Work: file}, "is not a directory"},
		{"missing root", Spec{Argv: []string{"true"}, Root: dir + "/none"}, "no such file"},
		{"root is a file", Spec{Argv: []string{"true"}, Root: file}, "is not a directory"},
		{"root is the host's", Spec{Argv: []string{"true"}, Root: "/"}, "is that of the host"},
		{"root is the host's by another name", Spec{Argv: []string{"true"}, Root: "/proc/self/root"}, "is that of the host"},
		{"root holds work", Spec{Argv: []string{"true"}, Root: dir, Work: below}, "holds the work directory"},
		{"root is in work", Spec{Argv: []string{"true"}, Root: below, Work: dir}, "commands can change it"},
		{"root is work", Spec{Argv: []string{"true"}, Root: below, Work: below}, "holds the work directory"},
		{"workdir is all of /usr", Spec{Argv: []string{"true"}, Root: below, Workdir: "/usr"}, "path of its own"},
		{"workdir over /dev of a root", Spec{Argv: []string{"true"}, Root: below, Workdir: "/dev/x"}, "belongs to the system"},
		{"too many variables", Spec{Argv: []string{"true"}, Env: manyVariables(2001)}, "2001 environment variables are more than 2000"},
		{"too many arguments", Spec{Argv: append([]string{"true"}, make([]string, 9000)...)}, "9001 arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := engineFor(t).Start(lent(c.spec))
			if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.words) || p != nil {
				t.Errorf("%v, not %q", err, c.words)
			}
		})
	}
}

func manyVariables(n int) map[string]string {
	env := map[string]string{}
	for i := range n {
		env["V"+strconv.Itoa(i)] = "1"
	}
	return env
}

func TestOnlyAnUnprivilegedUserIsLent(t *testing.T) {
	for _, c := range []struct {
		name           string
		caller         int
		hostID, hostGD int
		want           int // the uid that is lent; 0: refused
	}{
		{"root names one", 0, 1234, 1234, 1234},
		{"root names none", 0, 0, 0, 0},
		{"root names no gid", 0, 1234, 0, 0},
		{"root names no uid", 0, 0, 1234, 0},
		{"root names less than nothing", 0, -1, 1234, 0},
		{"user names none", 1000, 0, 0, 1000},
		{"user names itself", 1000, 1000, 1000, 1000},
		{"user names another", 1000, 1001, 1000, 0},
		{"user names another group", 1000, 1000, 1001, 0},
	} {
		spec, err := Spec{Argv: []string{"true"}, HostUID: c.hostID, HostGID: c.hostGD}.complete(c.caller, c.caller)
		switch {
		case c.want == 0:
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%s: %v", c.name, err)
			}
		case err != nil || spec.HostUID != c.want || spec.HostGID != c.want:
			t.Errorf("%s: %d %d %v", c.name, spec.HostUID, spec.HostGID, err)
		}
	}
}

func TestLongestArgumentArrives(t *testing.T) {
	if _, out := run(t, Spec{Argv: []string{"sh", "-c", `echo ${#1}`, "sh", strings.Repeat("a", maxString)}}); out != "131071\n" {
		t.Errorf("%q", out)
	}
}

func TestAsManyArgumentsAsBubblewrapTakesArrive(t *testing.T) {
	argv := []string{"sh", "-c", `echo $#`, "sh"}
	spec, err := lent(Spec{Argv: argv}).complete(os.Geteuid(), os.Getegid())
	if err != nil {
		t.Fatal(err)
	}
	l, err := engineFor(t).plan(spec)
	if err != nil {
		t.Fatal(err)
	}
	more := maxWords - (1 + len(l.line) + len(l.argv) + len(l.options))
	spec.Argv = append(argv, make([]string, more)...)
	if exit, out := run(t, spec); exit.Code != 0 || out != strconv.Itoa(more)+"\n" {
		t.Errorf("%+v %q, not %d", exit, out, more)
	}
}

func TestArgumentsAreNeverOptions(t *testing.T) {
	for _, argv := range [][]string{
		{"echo", "--bind", "/", "/host"},
		{"echo", "--", "--args", "9"},
	} {
		want := strings.Join(argv[1:], " ") + "\n"
		if _, out := run(t, Spec{Argv: argv, Env: map[string]string{"--bind": "--share-net"}}); out != want {
			t.Errorf("%q, not %q", out, want)
		}
	}
	exit, err := begin(t, Spec{Argv: []string{"--version"}}).Wait()
	if !errors.Is(err, ErrNotRun) {
		t.Errorf("%+v %v", exit, err)
	}
}

func TestTooManyArgumentsAreAClearError(t *testing.T) {
	argv := []string{"true"}
	for range 60 { // more than the 6 MiB that Linux takes at most
		argv = append(argv, strings.Repeat("a", maxString))
	}
	if _, err := engineFor(t).Start(lent(Spec{Argv: argv})); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "pass less on the command line") {
		t.Error(err)
	}
}

func TestWorkMayHaveAnyName(t *testing.T) {
	for _, name := range []string{"with space", "line\nbreak", `quote"'\\ back`, "--bind", "ünï", "a\tb", "\xff\xfe"} {
		work := filepath.Join(filepath.Dir(newWork(t)), name)
		if err := os.Mkdir(work, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(work, 0o777); err != nil {
			t.Fatal(err)
		}
		if exit, out := run(t, Spec{Argv: shell("echo x >made"), Work: work}); exit.Code != 0 {
			t.Errorf("%q: %+v %s", name, exit, out)
		}
		if _, err := os.Stat(filepath.Join(work, "made")); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
