// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestHangupReloadsTheConfigurationAndKeepsTheFormerOnAMistake(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130} {
		y := newYard(t, "schedule: '@daily'")
		b := y.start(t, "run")
		b.logs(t, `"mode":"enforce"`)
		b.logs(t, `"schedule":"@daily"`)

		y.configure(t, "schedule: , * * * *")
		b.signal(t, syscall.SIGHUP)
		b.logs(t, "the former one stays in force")
		if !strings.Contains(b.log.String(), "never fires") {
			t.Errorf("does not say what is wrong:\n%s", &b.log)
		}

		y.configure(t, "schedule: '@hourly'")
		b.signal(t, syscall.SIGHUP)
		b.logs(t, "configuration reloaded")
		b.logs(t, `"schedule":"@hourly"`)

		b.signal(t, sig)
		b.logs(t, "janitor stopped")
		if status := b.wait(t); status != want {
			t.Errorf("%s: exit status %d, want %d", sig, status, want)
		}
		if b.out.Len() > 0 {
			t.Errorf("standard output has what is no report:\n%s", &b.out)
		}
	}
}

// daemon is a janitor in a bubble of time, over real sandboxes.
type daemon struct {
	app     *app
	hangups chan os.Signal
}

// bubbleClock is the bubble's clock, set to the world's: sandboxes and files are
// dated by that.
type bubbleClock struct{ ahead time.Duration }

func (c bubbleClock) Now() time.Time { return clock.System().Now().Add(c.ahead) }

// inBubble runs a daemon over y while test sleeps as long as it likes.
func (y yard) inBubble(t *testing.T, test func(*testing.T, *daemon)) {
	t.Helper()
	out, err := os.Create(filepath.Join(filepath.Dir(y.config), "out"))
	if err != nil {
		t.Fatal(err)
	}
	now := clock.System().Now()
	synctest.Test(t, func(t *testing.T) {
		d := &daemon{hangups: make(chan os.Signal), app: &app{
			clock: bubbleClock{now.Sub(clock.System().Now())}, in: os.Stdin, out: out, errs: out,
			output: "table", configFile: y.config, log: slog.New(slog.DiscardHandler),
		}}
		s, err := d.app.site(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- d.app.follow(ctx, s, nil, d.hangups) }()
		test(t, d)
		cancel(cli.Stopped{Signal: syscall.SIGTERM})
		if err := <-ended; d.app.status(err) != 143 {
			t.Errorf("it ended with %v", err)
		}
	})
}

func (d *daemon) reports(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(d.app.out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestDaemonReclaimsOnItsScheduleWhatDiesWhileItRuns(t *testing.T) {
	y := newYard(t, "schedule: '*/10 * * * *'")
	handle, err := y.make() // ends in an hour
	if err != nil {
		t.Fatal(err)
	}
	kept, err := y.make()
	if err == nil {
		err = y.tag(kept, sandbox.TagProtect, "yes")
	}
	if err != nil {
		t.Fatal(err)
	}
	y.inBubble(t, func(t *testing.T, d *daemon) {
		time.Sleep(64 * time.Minute) // dead, and within its grace
		y.check(t, handle, true)
		time.Sleep(60 * time.Minute)
		y.check(t, handle, false)
		y.check(t, kept, true)
		if text := d.reports(t); strings.Count(text, "exit ") != 1 || !strings.Contains(text, "1 reclaimed. exit 0") {
			t.Errorf("the one run that did something is to be reported, and no other:\n%s", text)
		}
	})
}

func TestDaemonWithoutStateRemembersFromRunToRunAndOverAReload(t *testing.T) {
	y := newYard(t, "state: none\ngrace: {orphaned_workspace: 15m}\nschedule: '*/10 * * * *'")
	if err := y.leftover("half-deleted"); err != nil {
		t.Fatal(err)
	}
	trash := filepath.Join(y.dir, "trash", "half-deleted")
	y.inBubble(t, func(t *testing.T, d *daemon) {
		time.Sleep(11 * time.Minute) // the first look marks it
		d.hangups <- syscall.SIGHUP
		if _, err := os.Stat(trash); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Minute) // a mark from after the reload would be too young
		if _, err := os.Stat(trash); err == nil {
			t.Errorf("the first mark is forgotten:\n%s", d.reports(t))
		}
	})
}
