// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

// sameStop is how close together two signals are one wish: timeout(1) and
// process groups deliver one stop twice.
const sameStop = time.Second

// stoppable returns a context that the first SIGTERM or SIGINT ends, with the
// cause cli.Stopped: what is in flight is given time, and everything is saved. A
// second one ends the process at once; what was asked for is found by the next
// run.
func (a *app) stoppable(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go a.obey(signals, cancel, os.Exit)
	return ctx, func() { signal.Stop(signals); close(signals); cancel(nil) }
}

func (a *app) obey(signals <-chan os.Signal, stop context.CancelCauseFunc, end func(status int)) {
	var first time.Time
	for sig := range signals {
		number, _ := sig.(syscall.Signal)
		switch now := a.clock.Now(); {
		case first.IsZero():
			first = now
			a.log.Warn("stopping; a second signal stops at once", "signal", number.String())
			stop(cli.Stopped{Signal: number})
		case now.Sub(first) >= sameStop:
			a.log.Warn("stopped at once", "signal", number.String())
			end(cli.Stopped{Signal: number}.ExitStatus())
		}
	}
}

// stoppedBy returns the error for a context that a signal ended, else nil.
func stoppedBy(ctx context.Context) error {
	if signal, stopped := cli.StoppedBy(ctx); stopped {
		return signal
	}
	return nil
}
