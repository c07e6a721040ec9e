// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// newMarker returns an argument by which a command and all that it starts can
// be found among the processes of the host.
func newMarker() string { return fmt.Sprintf("marker-%d-%d", os.Getpid(), rand.Uint64()) }

// marked returns the processes of the host that have marker among their
// arguments. A process that is gone but not waited for has no arguments.
func marked(t *testing.T, marker string) (pids []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte(marker)) {
			continue // it ended meanwhile, or is not ours
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// endAll ends what a test left behind on purpose.
func endAll(pids []int) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestKillAtAnyMomentLeavesNoProcess(t *testing.T) {
	times := 100
	if testing.Short() {
		times = 30
	}
	marker := newMarker()
	if left := killEarly(t, marker, times); len(left) > 0 {
		endAll(left)
		t.Fatalf("%d processes survived", len(left))
	}
}

// TestKillDuringTheSetUpLeavesNoProcess kills bubblewrap while its child waits
// to be let go on, which is before the child is bound to bubblewrap's life. The
// outer namespace ends the child; bubblewrap's own way would begin too late.
func TestKillDuringTheSetUpLeavesNoProcess(t *testing.T) {
	if left := killDuringSetUp(t); left > 0 {
		t.Errorf("%d processes survived", left)
	}
	left := killDuringSetUp(t, func(l *launch) { l.attributes.Cloneflags &^= syscall.CLONE_NEWPID })
	if left == 0 {
		t.Error("no process survived without the outer namespace")
	}
}

// killDuringSetUp returns how many processes are left.
func killDuringSetUp(t *testing.T, weaken ...func(*launch)) int {
	t.Helper()
	marker := newMarker()
	l := planned(t, Spec{Argv: []string{"./probe", "linger", marker}, Work: newWork(t)}, weaken...)
	gate, opener, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll([]*os.File{gate, opener})
	l.add("--block-fd", strconv.Itoa(firstDataFD+len(l.data)))
	report, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t, l, report, gate)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for tries := 10_000; len(marked(t, marker)) < 2; tries-- {
		if tries == 0 {
			t.Fatal("bubblewrap has no child")
		}
		time.Sleep(time.Millisecond) // nobody tells when it has
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	left := marked(t, marker)
	endAll(left)
	return len(left)
}

// killEarly starts and kills up to times, until a process is left.
func killEarly(t *testing.T, marker string, times int) []int {
	t.Helper()
	spec := Spec{Argv: []string{"./probe", "linger", marker}, Work: newWork(t)}
	for i := range times {
		p := begin(t, spec)
		time.Sleep(rand.N(15 * time.Millisecond))
		p.streams.grace = time.Millisecond // a process that survives holds on to the pipes
		p.Kill()
		exit, err := p.Wait()
		if !exit.Killed || exit.Code != -1 {
			t.Fatalf("%+v %v", exit, err)
		}
		if i%10 != 9 {
			continue // a survivor stays for a minute, and looking is slow
		}
		if left := marked(t, marker); len(left) > 0 {
			return left
		}
	}
	return nil
}

func TestDeathOfTheStarterLeavesNoProcess(t *testing.T) {
	times := 100
	if testing.Short() {
		times = 15
	}
	work, marker := newWork(t), newMarker()
	for range times {
		dieWhileRunning(t, work, marker, rand.N(15*time.Millisecond))
	}
	for range 500 { // they go by themselves, but nobody tells when
		if len(marked(t, marker)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	left := marked(t, marker)
	endAll(left)
	t.Fatalf("%d processes survived", len(left))
}

// dieWhileRunning starts a program that runs commands and kills it.
func dieWhileRunning(t *testing.T, work, marker string, after time.Duration) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), supervisorVariable+"="+marker, "ENGINE_TEST_WORK="+work)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "starting\n" {
		t.Errorf("supervisor: %q %v", line, err)
	}
	time.Sleep(after)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// supervise is the program that dieWhileRunning kills; by itself it ends with
// an error only.
func supervise(marker string) error {
	e, err := New()
	if err != nil {
		return err
	}
	fmt.Println("starting")
	for {
		spec := Spec{Argv: []string{"./probe", "linger", marker}, Work: os.Getenv("ENGINE_TEST_WORK")}
		if _, err := e.Start(lent(spec)); err != nil {
			return err
		}
		time.Sleep(3 * time.Millisecond)
	}
}

func TestKillEndsTheWholeTree(t *testing.T) {
	marker := newMarker()
	reader, writer := io.Pipe()
	spec := Spec{Work: newWork(t), Stdout: writer, Argv: shell(
		`trap "" TERM HUP INT; ./probe tree ` + marker + `; nohup ./probe linger ` + marker + ` >/dev/null 2>&1 & sleep 60`)}
	p := begin(t, spec)
	if line, err := bufio.NewReader(reader).ReadString('\n'); err != nil || !strings.HasPrefix(line, "ready") {
		t.Fatalf("%q %v", line, err)
	}
	if len(marked(t, marker)) < 2 {
		t.Error("the tree was not to be seen before")
	}
	p.Kill()
	if exit, err := p.Wait(); err != nil || !exit.Killed {
		t.Fatalf("%+v %v", exit, err)
	}
	if left := marked(t, marker); len(left) > 0 {
		endAll(left)
		t.Errorf("%d processes survived", len(left))
	}
}

func TestKillOutrunsForks(t *testing.T) {
	marker := newMarker()
	reader, writer := io.Pipe()
	forks := `for i in $(seq 20); do (while :; do sh -c : ` + marker + `; done) & done; echo ready; wait`
	p := begin(t, Spec{Argv: shell(forks), Stdout: writer})
	if line, err := bufio.NewReader(reader).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%q %v", line, err)
	}
	p.Kill()
	if exit, err := p.Wait(); err != nil || !exit.Killed {
		t.Fatalf("%+v %v", exit, err)
	}
	if left := marked(t, marker); len(left) > 0 {
		endAll(left)
		t.Errorf("%d processes survived", len(left))
	}
}

func TestEndOfTheCommandEndsWhatItLeftBehind(t *testing.T) {
	marker := newMarker()
	exit, out := run(t, Spec{Work: newWork(t), Argv: shell("./probe tree " + marker + "; exit 5")})
	if exit.Code != 5 || !strings.HasPrefix(out, "ready") {
		t.Fatalf("%+v %q", exit, out)
	}
	if left := marked(t, marker); len(left) > 0 {
		endAll(left)
		t.Errorf("%d processes survived", len(left))
	}
}

func TestKillIsIdempotentAndHarmlessAfterTheEnd(t *testing.T) {
	p := begin(t, Spec{Argv: shell("exit 4")})
	for range 2 {
		if exit, err := p.Wait(); err != nil || exit != (Exit{Code: 4}) {
			t.Errorf("%+v %v", exit, err)
		}
		p.Kill()
		p.Kill()
	}
}

// Go never ends the first thread of a process: no test may be given it.
func init() { runtime.LockOSThread() }

// TestCommandOutlivesTheThreadThatAskedForIt ends a thread of this process, as
// Go does with one that a goroutine had for itself.
func TestCommandOutlivesTheThreadThatAskedForIt(t *testing.T) {
	type start struct {
		process *Process
		err     error
		thread  int
	}
	stdin, hold := io.Pipe()
	spec := lent(Spec{Argv: shell("read line; exit 6"), Stdin: stdin})
	e, started := engineFor(t), make(chan start)
	go func() {
		runtime.LockOSThread() // and never unlock it
		p, err := e.Start(spec)
		started <- start{p, err, unix.Gettid()}
	}()
	s := <-started
	if s.err != nil {
		t.Fatal(s.err)
	}
	for exists(fmt.Sprintf("/proc/self/task/%d", s.thread)) {
		time.Sleep(time.Millisecond) // nobody tells when a thread is gone
	}
	if _, err := io.WriteString(hold, "line\n"); err != nil {
		t.Fatal(err)
	}
	if exit, err := s.process.Wait(); err != nil || exit != (Exit{Code: 6}) {
		t.Errorf("%+v %v", exit, err)
	}
}
