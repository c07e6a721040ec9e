// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
)

// The exit statuses besides those of janitor.Exit.
const (
	exitBug     = 1
	exitUsage   = 4
	exitChanges = 10 // plan --detailed-exitcode: there is something to reclaim
	exitSignal  = 128
)

// exit is an error that carries the process's status. Its text, if any, is all
// that is left to say.
type exit struct {
	status int
	err    error
}

func (e exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// usage is a mistake of whoever called us: a flag, the configuration, the state.
func usage(format string, args ...any) error { return exit{exitUsage, fmt.Errorf(format, args...)} }

// stopped is why a context ended: a signal came.
type stopped struct{ signal syscall.Signal }

func (s stopped) Error() string { return "stopped by " + s.signal.String() }

// status says on standard error what went wrong, and returns the exit status.
func (a *app) status(err error) int {
	if err == nil {
		return 0
	}
	status := exitBug
	var known exit
	var signal stopped
	switch {
	case errors.As(err, &signal):
		return exitSignal + int(signal.signal)
	case errors.As(err, &known):
		status = known.status
	case errors.Is(err, janitor.ErrBusy):
		status = int(janitor.ExitBusy)
	case strings.HasPrefix(err.Error(), "unknown command "):
		// cobra has no error type for it.
		status = exitUsage
	}
	if !errors.As(err, &known) || known.err != nil {
		fmt.Fprintf(a.errs, "janitor: %v\n", err)
	}
	return status
}
