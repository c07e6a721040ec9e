// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build figures && linux

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/figure"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// The sizes and limits that are promised.
const (
	listed, reclaimable = 10_000, 500
	planSeconds         = 1.5
	planMebibytes       = 64
	versionMilliseconds = 50
	repeats             = 5 // the best counts: the others measure the neighbours
)

// plant makes n more sandboxes like the given one, which is faster than Create:
// that proves each time that bubblewrap isolates.
func (m mess) plant(handle string, n int) error {
	dir := filepath.Join(m.dir, "sandboxes")
	record, err := os.ReadFile(filepath.Join(dir, handle, "meta.json"))
	if err != nil {
		return err
	}
	for range n {
		other := sandbox.Name(sandbox.NewMark())
		if err := copyTree(filepath.Join(dir, handle), filepath.Join(dir, other)); err != nil {
			return err
		}
		copied := bytes.ReplaceAll(record, []byte(handle), []byte(other))
		if err := os.WriteFile(filepath.Join(dir, other, "meta.json"), copied, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies directories and empty files with their modes.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		if entry.IsDir() {
			return errors.Join(os.Mkdir(target, 0o700), os.Chmod(target, info.Mode().Perm()))
		}
		return os.WriteFile(target, nil, info.Mode().Perm())
	})
}

// spent is what one run of a program took.
type spent struct {
	took      time.Duration
	mebibytes float64
	out       string
}

// spend runs a program, which must end well.
func spend(t *testing.T, cmd *exec.Cmd) spent {
	t.Helper()
	result := filepath.Join(t.TempDir(), "measured")
	python := cmp.Or(os.Getenv("PYTHON"), "python3")
	measured := exec.CommandContext(t.Context(), python, append([]string{"testdata/measure.py", result}, cmd.Args...)...)
	measured.Env = cmd.Env
	var out, errs bytes.Buffer
	measured.Stdout, measured.Stderr = &out, &errs
	if err := measured.Run(); err != nil {
		t.Fatalf("%v: %v\n%.2000s%.2000s", cmd.Args, err, &out, &errs)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var seconds, kibibytes float64
	if _, err := fmt.Sscan(string(text), &seconds, &kibibytes); err != nil {
		t.Fatal(err)
	}
	return spent{time.Duration(seconds * float64(time.Second)), kibibytes / 1024, out.String()}
}

// best runs a command several times and returns the least of each.
func best(t *testing.T, command func() *exec.Cmd) spent {
	t.Helper()
	least := spend(t, command())
	for range repeats - 1 {
		once := spend(t, command())
		least = spent{min(least.took, once.took), min(least.mebibytes, once.mebibytes), once.out}
	}
	return least
}

func TestFigurePlanOverTenThousandSandboxes(t *testing.T) {
	y := newYard(t, "")
	healthy, err := y.make()
	if err != nil {
		t.Fatal(err)
	}
	dead := y.expired(t, 1)[0]
	if err := errors.Join(y.plant(healthy, listed-reclaimable-1), y.plant(dead, reclaimable-1)); err != nil {
		t.Fatal(err)
	}
	plan := best(t, func() *exec.Cmd { return y.command(t, "plan") })
	if !strings.Contains(plan.out, " 10,000  9,500 ") || !strings.Contains(plan.out, "\n500 to reclaim") {
		t.Errorf("the plan is wrong:\n%.1000s", plan.out)
	}
	figure.Hold(t, "janitor_plan_10000_seconds", plan.took.Seconds(), planSeconds)
	figure.Hold(t, "janitor_plan_10000_mebibytes", plan.mebibytes, planMebibytes)
}

func TestFigureVersionIsInstant(t *testing.T) {
	version := best(t, func() *exec.Cmd { return exec.CommandContext(t.Context(), binary, "version") })
	figure.Hold(t, "janitor_version_milliseconds", float64(version.took.Milliseconds()), versionMilliseconds)
}
