// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/report"
)

func (a *app) explain() *cobra.Command {
	return &cobra.Command{
		Use:   "explain CONNECTION HANDLE",
		Short: "Tell what counts for and against one sandbox",
		Long: `Reads one sandbox or leftover afresh and tells what would become of it, what
every rule says about it and on what evidence, and how to keep it. CONNECTION is
a name of the configuration or a URI; CONNECTION#HANDLE, as in reports, will do as
well, and so will the beginning of a handle. Nothing is changed.`,
		Example: `  janitor explain local: taskowned-4odwe3
  janitor explain --config janitor.yaml 'lab#taskowned-4odwe3'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, name, handle, err := a.siteOf(args)
			if err != nil {
				return err
			}
			ctx, done := a.stoppable(cmd.Context())
			defer done()
			var e janitor.Explanation
			err = s.about(ctx, handle, func(handle string) (err error) {
				e, err = janitor.Explain(ctx, s.options, name, handle)
				return err
			})
			if err != nil {
				return unexplained(ctx, err)
			}
			return a.write(report.NewExplanation(e, a.clock.Now(), s.config.Connections[name].URI, a.program()))
		},
	}
}

// unexplained is the error of a command about one thing.
func unexplained(ctx context.Context, err error) error {
	switch {
	case stoppedBy(ctx) != nil:
		return stoppedBy(ctx)
	case cli.IsUsage(err), errors.Is(err, janitor.ErrBusy):
		return err
	case errors.Is(err, janitor.ErrNoSuchThing):
		return exit{cli.ExitNotFound, err}
	case errors.Is(err, janitor.ErrDocument):
		return exit{cli.ExitUsage, err}
	}
	return exit{cli.ExitUnreachable, err}
}
