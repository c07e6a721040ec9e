// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build figures && linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
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

// measure runs a command several times and returns the best of each.
func measure(t *testing.T, command func() *exec.Cmd) (took time.Duration, mebibytes float64, out string) {
	t.Helper()
	for i := range repeats {
		cmd := command()
		var text, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &text, &errs
		began := clock.System().Now()
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s%s", cmd.Args, err, &text, &errs)
		}
		once := clock.System().Now().Sub(began)
		used := float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
		if i == 0 || once < took {
			took = once
		}
		if i == 0 || used < mebibytes {
			mebibytes = used
		}
		out = text.String()
	}
	return took, mebibytes, out
}

func figure(t *testing.T, name string, value, limit float64) {
	t.Helper()
	verdict := "ok"
	if value > limit {
		verdict = "short"
		t.Errorf("%s is %.2f, over %g", name, value, limit)
	}
	fmt.Printf("figure=%s value=%.2f limit=%g verdict=%s\n", name, value, limit, verdict)
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
	took, mebibytes, out := measure(t, func() *exec.Cmd { return y.command(t, "plan") })
	if !strings.Contains(out, " 10,000  9,500 ") || !strings.Contains(out, "\n500 to reclaim") {
		t.Errorf("the plan is wrong:\n%s", out[:min(len(out), 1000)])
	}
	figure(t, "janitor_plan_10000_seconds", took.Seconds(), planSeconds)
	figure(t, "janitor_plan_10000_mebibytes", mebibytes, planMebibytes)
}

func TestFigureVersionIsInstant(t *testing.T) {
	took, _, _ := measure(t, func() *exec.Cmd { return exec.CommandContext(t.Context(), binary, "version") })
	figure(t, "janitor_version_milliseconds", float64(took.Milliseconds()), versionMilliseconds)
}
