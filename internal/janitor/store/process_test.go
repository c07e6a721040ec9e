// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
)

// TestMain lets the test binary stand for a second process.
func TestMain(m *testing.M) {
	switch os.Getenv("STORE_TEST_PROCESS") {
	case "save forever":
		saveForever(os.Args[1])
	case "save on a full disk":
		saveOnFullDisk(os.Args[1])
	default:
		os.Exit(m.Run())
	}
}

func process(t *testing.T, role, directory string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], directory)
	cmd.Env = append(os.Environ(), "STORE_TEST_PROCESS="+role)
	return cmd
}

// holdLock takes the lock as another process would: by its own open file.
func holdLock(t *testing.T, directory string) (release func()) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(directory, "janitor.lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return func() { _ = file.Close() }
}

// saveForever says a line for every save that has returned.
func saveForever(directory string) {
	s, _ := open(directory)
	doc, version, err := s.Load(context.Background())
	for n := 0; err == nil; n++ {
		doc.Run.ID = fmt.Sprint(n)
		if version, err = s.Save(context.Background(), doc, version); err == nil {
			fmt.Println(n)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func TestKillAtAnyPointLeavesAWholeDocumentThatCanBeSavedAgain(t *testing.T) {
	directory := t.TempDir()
	for round := range 12 {
		cmd := process(t, "save forever", directory)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// Its n-th save is reported, so it is somewhere in the next one.
		lines, last := bufio.NewScanner(out), ""
		for range 1 + round%3 {
			if !lines.Scan() {
				t.Fatal("it ended by itself")
			}
			last = lines.Text()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			last = lines.Text()
		}
		_ = cmd.Wait()

		s, log := open(directory)
		doc, version := load(t, s)
		if log.Len() > 0 {
			t.Errorf("after a kill: %s", log)
		}
		var saved, said int
		if _, err := fmt.Sscan(doc.Run.ID, &saved); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(last, &said); err != nil {
			t.Fatal(err)
		}
		if saved != said && saved != said+1 {
			t.Errorf("save %d had returned, and %d is there", said, saved)
		}
		save(t, s, doc, version)
	}
}

// saveOnFullDisk lets the kernel refuse what a full disk refuses: every byte
// past the first hundred.
func saveOnFullDisk(directory string) {
	signal.Ignore(syscall.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 100, Max: 100}); err != nil {
		panic(err)
	}
	s, _ := open(directory)
	_, version, err := s.Load(context.Background())
	if err == nil {
		_, err = s.Save(context.Background(), document(), version)
	}
	fmt.Println(err)
}

func TestFullDiskIsAnErrorAndTheOldDocumentStands(t *testing.T) {
	directory := t.TempDir()
	s, _ := open(directory)
	old := document()
	old.Scopes = map[string]janitor.Scope{}
	version := save(t, s, old, "")
	out, err := process(t, "save on a full disk", directory).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "file too large") || !strings.Contains(string(out), directory) {
		t.Errorf("it says %q, %v", out, err)
	}
	if _, now := load(t, s); now != version {
		t.Error("the old document does not stand")
	}
	if _, err := os.Lstat(filepath.Join(directory, "state.json.new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a document lies about: %v", err)
	}
}
