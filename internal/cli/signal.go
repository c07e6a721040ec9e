// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Stopped is why a context ended: a signal came.
type Stopped struct{ Signal syscall.Signal }

func (s Stopped) Error() string { return "stopped by " + s.Signal.String() }

// ExitStatus is 130 for SIGINT and 143 for SIGTERM, as a shell has it.
func (s Stopped) ExitStatus() int { return 128 + int(s.Signal) }

// StoppedBy returns the Stopped of a context that a signal ended.
func StoppedBy(ctx context.Context) (stopped Stopped, ok bool) {
	ok = errors.As(context.Cause(ctx), &stopped)
	return stopped, ok
}

// UntilStopped returns a context that the first SIGINT or SIGTERM ends. The
// second ends the process.
func UntilStopped(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case sig := <-signals:
			number, _ := sig.(syscall.Signal)
			signal.Stop(signals)
			cancel(Stopped{number})
		case <-ctx.Done():
		}
	}()
	return ctx, func() { signal.Stop(signals); cancel(nil) }
}
