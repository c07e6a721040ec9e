// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

func TestExitIsTheCommandsOwn(t *testing.T) {
	for _, c := range []struct {
		name string
		argv []string
		want int
	}{
		{"success", []string{"true"}, 0},
		{"the code of a setup error", shell("exit 1"), 1},
		{"largest code", shell("exit 255"), 255},
		{"not found by the shell", shell("no-such-program"), 127},
		{"ended by itself with SIGKILL", shell("kill -KILL $$"), 137},
		{"ended by itself with SIGTERM", shell("kill -TERM $$"), 143},
		{"prints what bubblewrap would", shell("echo bwrap: execvp x: No such file >&2; exit 1"), 1},
		{"closes its streams first", shell("exec <&- >&- 2>&-; exit 7"), 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, Spec{Argv: c.argv})
			if exit, err := p.Wait(); err != nil || exit != (Exit{Code: c.want}) {
				t.Errorf("%+v %v, not %d", exit, err, c.want)
			}
		})
	}
}

func TestCommandThatNeverRanIsAnErrorWithBubblewrapsWords(t *testing.T) {
	work := newWork(t)
	if err := os.WriteFile(filepath.Join(work, "data"), []byte("data"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name             string
		spec             Spec
		words            string
		program, missing bool
	}{
		{"missing program", Spec{Argv: []string{"no-such-program"}}, "no-such-program: No such file", true, true},
		{"not a program", Spec{Argv: []string{"./data"}, Work: work}, "./data: Permission denied", true, false},
		{"missing directory", Spec{Argv: []string{"true"}, Dir: "/no/such"}, "/no/such: No such file", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			exit, err := begin(t, c.spec).Wait()
			if !errors.Is(err, ErrNotRun) || !strings.Contains(err.Error(), c.words) || exit.Killed || exit.Code != -1 {
				t.Errorf("%+v %v", exit, err)
			}
			if errors.Is(err, ErrProgram) != c.program || errors.Is(err, fs.ErrNotExist) != c.missing {
				t.Errorf("%v is of another class", err)
			}
		})
	}
}

func TestStandardEnvironment(t *testing.T) {
	_, out := run(t, Spec{Argv: []string{"env"}, Env: map[string]string{"LANG": "xx", "MORE": "a\nb"}, Workdir: "/any/where"})
	want := map[string]bool{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin": true, "HOME=/any/where": true, "TMPDIR=/tmp": true,
		"USER=sandbox": true, "LANG=xx": true, "MORE=a": true, "b": true, "PWD=/any/where": true,
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if !want[line] {
			t.Errorf("unexpected %q", line)
		}
		delete(want, line)
	}
	if len(want) > 0 {
		t.Errorf("missing %v", want)
	}
}

func TestBigEnvironmentArrives(t *testing.T) {
	env := map[string]string{"A": strings.Repeat("a", 100_000), "B": strings.Repeat("b", 100_000)}
	if _, out := run(t, Spec{Argv: shell(`echo ${#A} ${#B}`), Env: env}); out != "100000 100000\n" {
		t.Errorf("%q", out)
	}
}

func TestOnlyWorkOutlivesACommand(t *testing.T) {
	work := newWork(t)
	run(t, Spec{Work: work, Argv: shell("echo kept >kept; echo lost | tee /tmp/lost /run/lost /dev/shm/lost; id -un")})
	if content, err := os.ReadFile(filepath.Join(work, "kept")); err != nil || string(content) != "kept\n" {
		t.Errorf("%q %v", content, err)
	}
	if _, out := run(t, Spec{Work: work, Argv: shell("ls /tmp /run /dev/shm | grep lost; cat kept")}); out != "kept\n" {
		t.Errorf("%q", out)
	}
}

func TestFilesOfACommandBelongToTheLentUser(t *testing.T) {
	work := newWork(t)
	run(t, Spec{Work: work, Argv: shell("touch mine")})
	info, err := os.Stat(filepath.Join(work, "mine"))
	if err != nil {
		t.Fatal(err)
	}
	want := lent(Spec{HostUID: os.Geteuid()}).HostUID
	if got := owner(t, info); got != want {
		t.Errorf("owner is %d, not %d", got, want)
	}
}

func TestOrdinaryProgramsWork(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"who am I", "id -un; id -gn; hostname", "sandbox\nsandbox\nsandbox\n"},
		{"pipes and background", "seq 1000 | wc -l; (sleep 0; echo done) & wait", "1000\ndone\n"},
		{"home of the user", "getent passwd 1000 | cut -d: -f6; cd && pwd", "/workspace\n/workspace\n"},
		{"names of localhost", "getent hosts localhost | cut -d' ' -f1", "::1\n"},
		{"orphans are reaped", "for i in 1 2 3 4 5; do (true &); done; " +
			"for i in $(seq 1000); do set -- /proc/[0-9]*; [ $# -gt 2 ] || break; sleep 0.01; done; echo $*", "/proc/1 /proc/2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if exit, out := run(t, Spec{Argv: shell(c.script)}); exit.Code != 0 || out != c.want {
				t.Errorf("%+v %q, not %q", exit, out, c.want)
			}
		})
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			var out bytes.Buffer
			p, err := engineFor(t).Start(lent(Spec{Argv: shell("echo $N; exit $N"), Env: map[string]string{"N": string(rune('0' + i%10))}, Stdout: &out}))
			if err != nil {
				t.Error(err)
				return
			}
			if exit, err := p.Wait(); err != nil || exit.Code != i%10 || out.String() != string(rune('0'+i%10))+"\n" {
				t.Errorf("%d: %+v %v %q", i, exit, err, out.String())
			}
		})
	}
	group.Wait()
}

// TestFullDescriptorTableIsAnErrorAndLeaksNothing lets every call that needs a
// descriptor fail, one after the other.
func TestFullDescriptorTableIsAnErrorAndLeaksNothing(t *testing.T) {
	run(t, Spec{Argv: []string{"true"}}) // what is opened once
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	before := descriptors(t)
	failed := 0
	for room := range uint64(40) {
		limit := unix.Rlimit{Cur: uint64(before) - 1 + room, Max: old.Max} // reading the directory takes one
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		p, err := engineFor(t).Start(lent(Spec{Argv: []string{"true"}, Stdin: strings.NewReader("x")}))
		if restored := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); restored != nil {
			t.Fatal(restored)
		}
		if err == nil {
			if exit, err := p.Wait(); err != nil || exit.Code != 0 {
				t.Errorf("room for %d: %+v %v", room, exit, err)
			}
		} else if failed++; !errors.Is(err, ErrExhausted) || !strings.Contains(err.Error(), "ulimit -n") {
			t.Errorf("room for %d: %v", room, err)
		}
		after := descriptors(t)
		if goLeaks := 2; errors.As(err, new(*fs.PathError)) && after == before+goLeaks {
			before = after // syscall.forkAndExecInChild forgets its pipe when clone itself fails
		}
		if after != before {
			t.Fatalf("room for %d: %d descriptors before, %d after: %v", room, before, after, err)
		}
	}
	if failed < 10 || failed == 40 {
		t.Errorf("%d of 40 starts failed", failed)
	}
}

// TestNothingRunsWhenNobodyIsLeftToReportTo closes a gap: a starter that dies
// before bubblewrap is bound to its life has also closed the report's pipe.
func TestNothingRunsWhenNobodyIsLeftToReportTo(t *testing.T) {
	work := newWork(t)
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, planned(t, Spec{Argv: shell("touch ran"), Work: work}), writer).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "Broken pipe") {
		t.Errorf("bubblewrap went on: %v %q", err, out)
	}
	if _, err := os.Stat(filepath.Join(work, "ran")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the command ran: %v", err)
	}
}
