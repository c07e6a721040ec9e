// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Some promises are about several processes and about those that die. The test
// binary plays them: with roleVariable set it does what that role says.
const (
	roleVariable   = "LOCAL_TEST_ROLE"
	dirVariable    = "LOCAL_TEST_DIR"
	handleVariable = "LOCAL_TEST_HANDLE"
	numberVariable = "LOCAL_TEST_NUMBER"
)

func TestMain(m *testing.M) {
	play, ok := roles[os.Getenv(roleVariable)]
	if !ok {
		os.Exit(m.Run())
	}
	caller := &backend.Caller{}
	h := newHost(os.Getenv(dirVariable), caller, clock.NewFake(start))
	h.engine = &engine.Engine{}
	number, _ := strconv.Atoi(os.Getenv(numberVariable))
	if err := play(h, sandbox.Ref{Handle: os.Getenv(handleVariable)}, number); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

var roles = map[string]func(h *host, ref sandbox.Ref, number int) error{
	// writer rewrites the tags for ever.
	"writer": func(h *host, ref sandbox.Ref, _ int) error {
		for n := 0; ; n++ {
			value := strings.Repeat(strconv.Itoa(n%10), 1+n%5000)
			if err := h.SetTags(context.Background(), ref, sandbox.Tags{"a": value, "b": value}); err != nil {
				return err
			}
			if n == 0 {
				fmt.Println("ready")
			}
		}
	},
	// editor adds editsEach tags, each in an edit of its own.
	"editor": func(h *host, ref sandbox.Ref, number int) error {
		for n := range editsEach {
			key := fmt.Sprintf("%d-%d", number, n)
			edit := func(tags sandbox.Tags) { tags[key] = "kept" }
			if err := backend.EditTags(context.Background(), h, ref, edit); err != nil {
				return err
			}
		}
		return nil
	},
	// creator and destroyer kill themselves at the step of that number.
	"creator": func(h *host, _ sandbox.Ref, number int) error {
		killAt(h.caller, number)
		_, err := backend.Create(context.Background(), h, request(h, nil))
		return err
	},
	"destroyer": func(h *host, ref sandbox.Ref, number int) error {
		killAt(h.caller, number)
		return h.Destroy(context.Background(), ref)
	},
	// churner creates and destroys for ever.
	"churner": func(h *host, _ sandbox.Ref, _ int) error {
		for n := 0; ; n++ {
			made, err := backend.Create(context.Background(), h, request(h, nil))
			if err != nil {
				return err
			}
			if n == 0 {
				fmt.Println("ready")
			}
			if err := h.Destroy(context.Background(), made.Ref); err != nil {
				return err
			}
		}
	},
}

const editsEach = 50

// killAt makes the process kill itself at a step: before its first call is 0,
// after it 1, before its second 2, and so on.
func killAt(caller *backend.Caller, number int) {
	step := 0
	reached := func() {
		if step == number {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // until the signal arrives
		}
		step++
	}
	caller.Intercept = func(ctx context.Context, _ backend.Call, attempt func(context.Context) error) error {
		reached()
		err := attempt(ctx)
		reached()
		return err
	}
}

// actor returns a process that plays role on the sandbox handle in h's directory.
func actor(t *testing.T, role string, h *host, handle string, number int) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+h.dir,
		handleVariable+"="+handle, numberVariable+"="+strconv.Itoa(number))
	cmd.Stderr = os.Stderr
	return cmd
}

// killedSoonAfterReady starts cmd, and kills it at a chance moment after it
// says that it is ready.
func killedSoonAfterReady(t *testing.T, cmd *exec.Cmd, within time.Duration) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Errorf("it said %q, %v", line, err)
	}
	time.Sleep(time.Duration(rand.Int64N(int64(within))))
	must(t, cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, out)
	_ = cmd.Wait()
}

func TestWriterKilledAtAnyMomentLeavesAWholeRecord(t *testing.T) {
	h, _ := testHost(t, place(t))
	made := create(t, h, nil)
	for range 60 {
		killedSoonAfterReady(t, actor(t, "writer", h, made.Handle, 0), 3*time.Millisecond)
		got, err := h.Get(t.Context(), made.Ref)
		if err != nil || got.Problem != "" || got.Tags["a"] == "" || got.Tags["a"] != got.Tags["b"] {
			t.Fatalf("after a kill: %+v, %v", got, err)
		}
	}
	entries, err := os.ReadDir(filepath.Join(h.dir, sandboxesDir, made.Handle))
	must(t, err)
	if len(entries) > 5 { // the record, its draft, two locks and the workdir
		t.Errorf("drafts pile up: %v", entries)
	}
	must(t, h.SetTags(t.Context(), made.Ref, sandbox.Tags{"still": "writable"}))
}

func TestProcessesThatEditTagsTogetherLoseNothing(t *testing.T) {
	h, _ := testHost(t, place(t))
	made := create(t, h, sandbox.Tags{"foreign": "kept"})
	var editors sync.WaitGroup
	for number := range 3 {
		editors.Go(func() {
			if err := actor(t, "editor", h, made.Handle, number).Run(); err != nil {
				t.Errorf("editor %d: %v", number, err)
			}
		})
	}
	editors.Wait()
	got, err := h.Get(t.Context(), made.Ref)
	must(t, err)
	if want := 3*editsEach + 2; len(got.Tags) != want || got.Tags["foreign"] != "kept" {
		t.Errorf("%d tags, want %d with the foreign one", len(got.Tags), want)
	}
}

// wantCleanEnd fails unless everything in the state directory is a whole
// sandbox or a leftover that can be removed, and then nothing.
func wantCleanEnd(t *testing.T, h *host) {
	t.Helper()
	for _, s := range list(t, h) {
		if s.Problem != "" {
			t.Fatalf("%s: %s", s.Handle, s.Problem)
		}
		must(t, h.Destroy(t.Context(), s.Ref))
	}
	for l, err := range h.Leftovers(t.Context()) {
		must(t, err)
		if l.InUse || l.Problem != "" {
			t.Errorf("leftover of the dead: %+v", l)
		}
		must(t, h.Remove(t.Context(), l))
	}
	for _, name := range []string{sandboxesDir, stagingDir, trashDir} {
		if entries, err := os.ReadDir(filepath.Join(h.dir, name)); err != nil || len(entries) > 0 {
			t.Errorf("%s holds %v, %v", name, entries, err)
		}
	}
}

func TestCreateKilledAtAnyStepLeavesAWholeSandboxOrALeftover(t *testing.T) {
	killed := 0
	for step := 0; ; step++ {
		h, _ := testHost(t, place(t))
		err := actor(t, "creator", h, "", step).Run()
		if len(list(t, h)) > 1 {
			t.Errorf("step %d: more than one sandbox", step)
		}
		wantCleanEnd(t, h)
		if err == nil {
			break
		}
		wantKilled(t, err)
		killed++
	}
	if killed < 6 { // before and after: prepare, stage, create
		t.Errorf("killed at %d steps only", killed)
	}
}

func TestDestroyKilledAtAnyStepIsCompletedByTheNext(t *testing.T) {
	killed := 0
	for step := 0; ; step++ {
		h, _ := testHost(t, place(t))
		made := create(t, h, nil)
		err := actor(t, "destroyer", h, made.Handle, step).Run()
		wantCleanEnd(t, h)
		if err == nil {
			break
		}
		wantKilled(t, err)
		killed++
	}
	if killed < 4 { // before and after: destroy, delete
		t.Errorf("killed at %d steps only", killed)
	}
}

func wantKilled(t *testing.T, err error) {
	t.Helper()
	ended, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	if status, ok := ended.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it was not killed, but failed: %v", err)
	}
}

func TestKilledBetweenStepsTheEndIsClean(t *testing.T) {
	h, _ := testHost(t, place(t))
	for range 60 {
		killedSoonAfterReady(t, actor(t, "churner", h, "", 0), 10*time.Millisecond)
		wantCleanEnd(t, h)
	}
}

func TestEverythingHoldsForAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this is one")
	}
	if testing.Short() {
		t.Skip("runs the other tests again")
	}
	const nobody = 65534
	dir := t.TempDir()
	must(t, os.Chmod(filepath.Dir(dir), 0o711))
	must(t, os.Chmod(dir, 0o777))
	program := filepath.Join(dir, "local.test")
	content, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(program, content, 0o755))

	// What reads the source tree cannot do so from there, and asks nothing of a user.
	cmd := exec.CommandContext(t.Context(), program, "-test.v", "-test.skip=^TestOfAirflowsSpecs")
	cmd.Dir = dir
	cmd.Env = []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", nobody, err, failures(string(out)))
	}
	if passed := strings.Count(string(out), "--- PASS"); passed < 100 {
		t.Errorf("as user %d only %d tests passed", nobody, passed)
	}
}

// failures leaves out what passed.
func failures(out string) string {
	var kept []string
	for line := range strings.Lines(out) {
		if trimmed := strings.TrimSpace(line); !strings.HasPrefix(trimmed, "=== ") && !strings.HasPrefix(trimmed, "--- PASS") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}
