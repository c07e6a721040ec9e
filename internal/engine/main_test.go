// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Variables by which the test binary starts itself again.
const (
	probeVariable      = "ENGINE_TEST_PROBE"      // path of the built probe
	supervisorVariable = "ENGINE_TEST_SUPERVISOR" // marker of the commands to run; see supervise
	strandedVariable   = "ENGINE_TEST_STRANDED"   // see stranded
	weakVariable       = "ENGINE_TEST_WEAK"       // a work directory; see weak
)

// hostID is the uid and gid that root lends to the commands of these tests.
const hostID = 70000

var probePath string

func TestMain(m *testing.M) {
	if marker := os.Getenv(supervisorVariable); marker != "" {
		fmt.Fprintln(os.Stderr, supervise(marker))
		os.Exit(1)
	}
	if os.Getenv(strandedVariable) != "" {
		fmt.Fprintln(os.Stderr, stranded())
		os.Exit(1)
	}
	if work := os.Getenv(weakVariable); work != "" {
		fmt.Fprintln(os.Stderr, weak(work))
		os.Exit(1)
	}
	if probePath = os.Getenv(probeVariable); probePath != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "engine-probe-")
	if err != nil {
		panic(err)
	}
	if probePath, err = buildProbe(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func buildProbe(dir string) (string, error) {
	if err := os.Chmod(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "probe")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "./testdata/probe")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the probe: %w\n%s", err, out)
	}
	return path, nil
}

// TestAnOrdinaryUserIsJustAsSafe runs all tests of this package again without
// root, because the engine takes another way there.
func TestAnOrdinaryUserIsJustAsSafe(t *testing.T) {
	if os.Geteuid() != 0 {
		return // all the others are it
	}
	dir := openDirectory(t)
	binary := filepath.Join(dir, "engine.test")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copyFile(t, self, binary)
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, fmt.Sprintf("-test.short=%t", testing.Short()), "-test.v", "-test.timeout=2m")
	cmd.Dir = home
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/bin:/bin", probeVariable + "=" + probePath}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestNetworkIsCut")) {
		t.Fatalf("as uid %d: %v\n%s", nobody, err, complaints(out))
	}
}

// complaints is what a test binary printed, without what went well.
func complaints(out []byte) []byte {
	var kept [][]byte
	for line := range bytes.Lines(out) {
		if words := bytes.TrimSpace(line); !bytes.HasPrefix(words, []byte("=== ")) && !bytes.HasPrefix(words, []byte("--- PASS")) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}

var testEngine = sync.OnceValues(New)

func engineFor(t testing.TB) *Engine {
	t.Helper()
	e, err := testEngine()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// openDirectory returns a new directory that every user may enter.
func openDirectory(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newWork returns a work directory, private to the uid of the command, that
// holds the probe.
func newWork(t testing.TB) string {
	t.Helper()
	work := filepath.Join(openDirectory(t), "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	copyFile(t, probePath, filepath.Join(work, "probe"))
	if os.Geteuid() == 0 {
		if err := os.Chown(work, hostID, hostID); err != nil {
			t.Fatal(err)
		}
	}
	return work
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o755); err != nil {
		t.Fatal(err)
	}
}

// lent completes spec with the uid that root lends.
func lent(spec Spec) Spec {
	if os.Geteuid() == 0 {
		spec.HostUID, spec.HostGID = hostID, hostID
	}
	return spec
}

// planned returns the launch of spec, with protections taken away.
func planned(t testing.TB, spec Spec, weaken ...func(*launch)) *launch {
	t.Helper()
	spec, err := lent(spec).complete(os.Geteuid(), os.Getegid())
	if err != nil {
		t.Fatal(err)
	}
	l, err := engineFor(t).plan(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range weaken {
		w(l)
	}
	return l
}

// command returns the bubblewrap of l, which reports to status and inherits more
// besides. The test closes status and what was opened for it.
func command(t testing.TB, l *launch, status *os.File, more ...*os.File) *exec.Cmd {
	t.Helper()
	files, err := l.files(status)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeAll(files) })
	cmd := l.command()
	cmd.ExtraFiles = append(files[:len(files):len(files)], more...)
	return cmd
}

// begin starts spec, with protections taken away.
func begin(t testing.TB, spec Spec, weaken ...func(*launch)) *Process {
	t.Helper()
	l := planned(t, spec, weaken...)
	p, err := l.start(spec.Stdin, spec.Stdout, spec.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs spec to its end and returns all that it wrote.
func run(t testing.TB, spec Spec, weaken ...func(*launch)) (Exit, string) {
	t.Helper()
	var out bytes.Buffer
	spec.Stdout, spec.Stderr = &out, &out
	exit, err := begin(t, spec, weaken...).Wait()
	if err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return exit, out.String()
}

func shell(script string) []string { return []string{"sh", "-c", script} }

// without takes options away that follow each other.
func without(options ...string) func(*launch) {
	return func(l *launch) {
		for i := range l.options {
			if tail := l.options[i:]; len(tail) >= len(options) && slices.Equal(tail[:len(options)], options) {
				l.options = slices.Delete(l.options, i, i+len(options))
				return
			}
		}
		panic(fmt.Sprintf("there is no option %q to take away", options))
	}
}

// withoutFilter takes the system call filter away.
func withoutFilter(l *launch) {
	i := slices.Index(l.options, "--seccomp")
	without(l.options[i], l.options[i+1])(l)
}

func all(weaken ...func(*launch)) func(*launch) {
	return func(l *launch) {
		for _, w := range weaken {
			w(l)
		}
	}
}

// attack is one attempt of the probe from inside.
type attack struct {
	name   string
	probe  []string
	stdin  string
	spec   Spec          // Argv and Work are filled in
	says   string        // part of the refusal
	weaken func(*launch) // takes away what stops it; nil: not safe to try, or nothing single does
}

// tryAll runs attacks: each is stopped, and comes through once what stops it is
// taken away.
func tryAll(t *testing.T, attacks []attack) {
	work := newWork(t)
	t.Run("work in plain view", func(t *testing.T) { tryAllIn(t, work, attacks) })
	if os.Geteuid() == 0 { // the way there is another one
		t.Run("work below a closed directory", func(t *testing.T) { tryAllIn(t, closed(t, work), attacks) })
	}
}

func tryAllIn(t *testing.T, work string, attacks []attack) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			spec := a.spec
			spec.Argv = append([]string{DefaultWorkdir + "/probe"}, a.probe...)
			spec.Work = work
			try := func(weaken ...func(*launch)) (Exit, string) {
				spec.Stdin = nil
				if a.stdin != "" {
					spec.Stdin = io.Reader(strings.NewReader(a.stdin))
				}
				return run(t, spec, weaken...)
			}
			if exit, out := try(); exit.Code != 3 || !strings.Contains(out, a.says) {
				t.Errorf("it was not stopped with %q: %+v\n%s", a.says, exit, out)
			}
			if a.weaken == nil {
				return
			}
			if exit, out := try(a.weaken); exit.Code != 0 {
				t.Errorf("it was stopped even without the protection: %+v\n%s", exit, out)
			}
		})
	}
}

func owner(t testing.TB, info os.FileInfo) int {
	t.Helper()
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("no owner of %s", info.Name())
	}
	return int(stat.Uid)
}
