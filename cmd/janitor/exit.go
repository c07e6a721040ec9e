// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
)

// exitChanges is what plan --detailed-exitcode adds to the statuses of
// janitor.Exit and package cli: there is something to reclaim.
const exitChanges = 10

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

// classes are the words for exit statuses in an error that is JSON.
var classes = map[int]string{
	cli.ExitBug:           "bug",
	cli.ExitFailed:        "failed",
	cli.ExitUsage:         "usage",
	cli.ExitUnreachable:   "unreachable",
	cli.ExitNotFound:      "not_found",
	int(janitor.ExitBusy): "busy",
}

// status says on standard error what went wrong, and returns the exit status.
func (a *app) status(err error) int {
	if err == nil {
		return 0
	}
	status := cli.ExitBug
	var known exit
	var signal cli.Stopped
	switch {
	case errors.As(err, &signal):
		return signal.ExitStatus()
	case errors.As(err, &known):
		status = known.status
	case errors.Is(err, janitor.ErrBusy):
		status = int(janitor.ExitBusy)
	case cli.IsUsage(err):
		status = cli.ExitUsage
	}
	if !errors.As(err, &known) || known.err != nil {
		wrong, _ := errors.AsType[cli.UsageError](err)
		cli.Failure{Message: err.Error(), Class: classes[status], Next: wrong.Next}.Print(a.errs, "janitor", a.output == "json")
	}
	return status
}
