// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// terminal is a janitor that a person runs.
type terminal struct {
	*os.File
	text bytes.Buffer
	wait func() error
}

func (y yard) atTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	cmd := y.command(t, args...)
	file, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return &terminal{File: file, wait: cmd.Wait}
}

// sees reads until the terminal shows what.
func (p *terminal) sees(t *testing.T, what string) {
	t.Helper()
	buffer := make([]byte, 4096)
	for !strings.Contains(p.text.String(), what) {
		n, err := p.Read(buffer)
		p.text.Write(buffer[:n])
		if err != nil {
			t.Fatalf("it ended before it showed %q:\n%s", what, &p.text)
		}
	}
}

func (p *terminal) types(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		t.Fatal(err)
	}
}

// status reads to the end and returns the exit status.
func (p *terminal) status(t *testing.T) int {
	t.Helper()
	_, _ = io.Copy(&p.text, p) // a terminal ends with EIO
	return statusOf(t, p.wait(), &p.text)
}

func TestSweepAsksOnATerminalAndOnlyYesIsAYes(t *testing.T) {
	for answer, c := range map[string]struct {
		status int
		gone   bool
		says   string
	}{
		"yes\n":   {0, true, "1 reclaimed. exit 0"},
		"y\n":     {2, false, "not approved; nothing was changed"},
		"\n":      {2, false, "not approved; nothing was changed"},
		"\x04":    {2, false, "not approved; nothing was changed"}, // end of input
		"\x03":    {130, false, "stopping"},                        // interrupt
		" yes \n": {0, true, "1 reclaimed. exit 0"},
	} {
		y := newYard(t, "")
		handle := y.expired(t, 1)[0]
		p := y.atTerminal(t, "sweep")
		p.sees(t, `Reclaim 1? Files in them are lost. Only "yes" is a yes: `)
		if !strings.Contains(p.text.String(), "lab#"+handle) || !strings.Contains(p.text.String(), "tag airflow_expires_at") {
			t.Errorf("asked without showing what, and why:\n%s", &p.text)
		}
		y.check(t, handle, true)
		p.types(t, answer)
		if status := p.status(t); status != c.status || !strings.Contains(p.text.String(), c.says) {
			t.Errorf("answer %q: exit status %d, want %d and %q:\n%s", answer, status, c.status, c.says, &p.text)
		}
		y.check(t, handle, !c.gone)
	}
}

func TestYesIsToWhatWasShownAndToNothingElse(t *testing.T) {
	y := newYard(t, "")
	late, err := y.make()
	if err != nil {
		t.Fatal(err)
	}
	handle := y.expired(t, 1)[0]
	p := y.atTerminal(t, "sweep")
	p.sees(t, "is a yes: ")
	if err := y.age(late, 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	p.types(t, "yes\n")
	if status := p.status(t); status != 2 || !strings.Contains(p.text.String(), "1 reclaimed, 1 postponed.") {
		t.Errorf("exit status %d:\n%s", status, &p.text)
	}
	y.check(t, handle, false)
	y.check(t, late, true)
}

func TestSweepWithNothingToReclaimAsksNothing(t *testing.T) {
	y := newYard(t, "")
	if _, err := y.make(); err != nil {
		t.Fatal(err)
	}
	p := y.atTerminal(t, "sweep")
	if status := p.status(t); status != 0 || !strings.Contains(p.text.String(), "0 reclaimed. exit 0") {
		t.Errorf("exit status %d:\n%s", status, &p.text)
	}
}

func TestAutoApproveAsksNothingOnATerminalEither(t *testing.T) {
	y := newYard(t, "")
	handle := y.expired(t, 1)[0]
	p := y.atTerminal(t, "sweep", "--auto-approve")
	if status := p.status(t); status != 0 || strings.Contains(p.text.String(), "yes") {
		t.Errorf("exit status %d:\n%s", status, &p.text)
	}
	y.check(t, handle, false)
}

func TestLogIsTextForAPersonAndJSONForACollector(t *testing.T) {
	y := newYard(t, "")
	y.expired(t, 2)
	p := y.atTerminal(t, "sweep", "--auto-approve", "--log-level", "info")
	if p.status(t); !strings.Contains(p.text.String(), "level=INFO") {
		t.Errorf("on a terminal:\n%s", &p.text)
	}
	y.expired(t, 1)
	if out, _ := y.run(t, "sweep", "--auto-approve"); !strings.Contains(out, `"level":"INFO"`) {
		t.Errorf("elsewhere:\n%s", out)
	}
}

func TestAPersonGetsTheReportWithoutTheLogOfEachStep(t *testing.T) {
	y := newYard(t, "")
	y.expired(t, 2)
	p := y.atTerminal(t, "sweep", "--auto-approve")
	if p.status(t); strings.Contains(p.text.String(), "level=") || !strings.Contains(p.text.String(), "2 reclaimed.") {
		t.Errorf("on a terminal:\n%s", &p.text)
	}
}
