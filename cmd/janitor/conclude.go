// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/report"
)

// written is what a report looks like to the one who prints it.
type written interface {
	Table(io.Writer) error
	JSON(io.Writer) error
}

// write puts a report, and nothing else, on standard output.
func (a *app) write(r written) error {
	form := r.Table
	if a.output == "json" {
		form = r.JSON
	}
	if err := form(a.out); err != nil {
		return exit{int(janitor.ExitPartial), fmt.Errorf("write the report: %w", err)}
	}
	return nil
}

// conclude writes the report and returns its exit status, which is the signal's
// where one has stopped the run.
func (a *app) conclude(ctx context.Context, r report.Report) error {
	if signal, stopped := cli.StoppedBy(ctx); stopped {
		r.Exit = janitor.Exit(signal.ExitStatus())
	}
	if err := errors.Join(a.write(r), stoppedBy(ctx)); err != nil {
		return err
	}
	if r.Exit != janitor.ExitClean {
		return exit{status: int(r.Exit)}
	}
	return nil
}

// unusableState is the error of a command that could not read or claim the state.
func unusableState(ctx context.Context, err error) error {
	if stop := stoppedBy(ctx); stop != nil {
		return stop
	}
	return exit{cli.ExitUsage, err}
}
