// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// stoppable returns a context that the first SIGTERM or SIGINT ends, with the
// cause stopped: what is in flight is given time, and everything is saved. The
// second ends the process at once; what was asked for is found by the next run.
func (a *app) stoppable(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for sig := range signals {
			number, _ := sig.(syscall.Signal)
			if ctx.Err() != nil {
				a.log.Warn("stopped at once", "signal", number.String())
				os.Exit(exitSignal + int(number))
			}
			a.log.Info("stopping; a second signal stops at once", "signal", number.String())
			cancel(stopped{number})
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel(nil) }
}

// stoppedBy returns the error for a context that a signal ended, else nil.
func stoppedBy(ctx context.Context) error {
	var signal stopped
	if errors.As(context.Cause(ctx), &signal) {
		return signal
	}
	return nil
}
