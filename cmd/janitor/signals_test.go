// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"context"
	"log/slog"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// One stop often comes twice: timeout(1) signals its child and then its group.
func TestEchoOfASignalIsNotASecondOne(t *testing.T) {
	for between, want := range map[time.Duration]int{0: 0, 5 * time.Millisecond: 0, time.Second: 143, time.Minute: 143} {
		synctest.Test(t, func(t *testing.T) {
			a := &app{clock: clock.System(), log: slog.New(slog.DiscardHandler)}
			ctx, stop := context.WithCancelCause(t.Context())
			signals := make(chan os.Signal)
			status := 0
			go a.obey(signals, stop, func(s int) { status = s })
			signals <- syscall.SIGTERM
			<-ctx.Done()
			time.Sleep(between)
			signals <- syscall.SIGTERM
			close(signals)
			synctest.Wait()
			if status != want {
				t.Errorf("second signal after %s: ended with %d, want %d", between, status, want)
			}
			if a.status(stoppedBy(ctx)) != 143 {
				t.Errorf("the context ended with %v", context.Cause(ctx))
			}
		})
	}
}
