// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
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
		name  string
		spec  Spec
		words string
	}{
		{"missing program", Spec{Argv: []string{"no-such-program"}}, "no-such-program: No such file"},
		{"not a program", Spec{Argv: []string{"./data"}, Work: work}, "./data: Permission denied"},
		{"missing directory", Spec{Argv: []string{"true"}, Dir: "/no/such"}, "/no/such: No such file"},
		{"too many variables", Spec{Argv: []string{"true"}, Env: manyVariables(3100)}, "Exceeded maximum number of arguments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exit, err := begin(t, c.spec).Wait()
			if !errors.Is(err, ErrNotRun) || !strings.Contains(err.Error(), c.words) || exit.Killed || exit.Code != -1 {
				t.Errorf("%+v %v", exit, err)
			}
		})
	}
}

func manyVariables(n int) map[string]string {
	env := map[string]string{}
	for i := range n {
		env["V"+strings.Repeat("x", i%100)+string(rune('a'+i%26))+strings.Repeat("y", i/100)] = "1"
	}
	return env
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
		{"names of localhost", "getent hosts localhost | cut -d' ' -f1", "::1\n"},
		{"orphans are reaped", "for i in 1 2 3 4 5; do (true &); done; " +
			"for i in $(seq 200); do grep -lsq 'State:.Z' /proc/[0-9]*/status || break; sleep 0.01; done; " +
			"grep -ls 'State:.Z' /proc/[0-9]*/status; echo done", "done\n"},
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
