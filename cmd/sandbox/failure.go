// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

// The exit statuses of exec besides its command's own and those of package cli,
// as timeout(1) has them.
const (
	statusTimedOut = 124
	statusNotRun   = 125
)

// failure is a cli.Failure and its exit status.
type failure struct {
	cli.Failure

	status int
}

// located is an error together with where it happened. The words say so
// already; programs that read JSON get it apart.
type located struct {
	error
	connection, handle string
}

func (l *located) Unwrap() error { return l.error }

// exitStatus is the failure of a command that ran in a sandbox; there is
// nothing to say about it.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// classes say for each class of error how it is called, its exit status, and
// what to do next, where that follows from the class alone: a conflict or an
// owner that is wrong has many causes, and its own words say what to do. The
// first that matches counts.
var classes = []struct {
	err    error
	class  string
	status int
	next   string
}{
	{backend.ErrNotFound, "not_found", cli.ExitNotFound, "see what is there: sandbox list CONNECTION"},
	{backend.ErrUnauthorized, "unauthorized", cli.ExitUnreachable, ""},
	{backend.ErrUnenforceable, "unenforceable", cli.ExitFailed, ""},
	{backend.ErrConflict, "conflict", cli.ExitFailed, ""},
	{backend.ErrUnknownOutcome, "unknown_outcome", cli.ExitFailed, "see what it came to: sandbox list CONNECTION"},
	{backend.ErrUnavailable, "unavailable", cli.ExitUnreachable, ""},
	{backend.ErrUnsupported, "unsupported", cli.ExitFailed, ""},
	{backend.ErrTooLarge, "too_large", cli.ExitFailed, "raise --max-bytes"},
	{backend.ErrInvalid, "invalid", cli.ExitFailed, ""},
}

// asFailure says which kind of failure err is.
func asFailure(ctx context.Context, command *cobra.Command, err error) failure {
	var ran exitStatus
	if errors.As(err, &ran) {
		return failure{status: int(ran)}
	}
	f := failure{cli.Failure{Message: err.Error(), Class: "failed"}, cli.ExitFailed}
	var where *located
	if errors.As(err, &where) {
		f.Connection, f.Handle = where.connection, where.handle
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			f.Class, f.status, f.Next = c.class, c.status, strings.ReplaceAll(c.next, "CONNECTION", f.Connection)
			break
		}
	}
	var late timeUp
	stopped, wasStopped := cli.StoppedBy(ctx)
	switch {
	case wasStopped:
		f.Class, f.Next, f.status = "stopped", "", stopped.ExitStatus()
		return f
	case errors.As(err, &late):
		f.Class, f.status = "timed_out", statusTimedOut
		return f
	case cli.IsUsage(err):
		wrong, _ := errors.AsType[cli.UsageError](err)
		f.Class, f.status = "usage", cli.ExitUsage
		f.Next = cmp.Or(wrong.Next, fmt.Sprintf("see: %s --help", command.CommandPath()))
	}
	if command.Name() == "exec" {
		f.status = statusNotRun // any other is the command's own
	}
	return f
}
