// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/report"
)

func (a *app) plan() *cobra.Command {
	var detailed bool
	cmd := &cobra.Command{
		Use:   "plan [URI...]",
		Short: "Show what a sweep would reclaim, and why",
		Long: `Looks at every selected connection and shows what a sweep with the same flags
would reclaim, what only is reported, and what needs a person, each with its
evidence. Nothing is changed, neither there nor in the state.

With --detailed-exitcode, a clean plan that has something to reclaim exits 10.`,
		Example: `  janitor plan local:
  janitor plan --config janitor.yaml --output json`,
		RunE: func(cmd *cobra.Command, uris []string) error {
			s, err := a.site(a.connections, uris)
			if err != nil {
				return err
			}
			ctx, done := a.stoppable(cmd.Context())
			defer done()
			result, err := janitor.Plan(ctx, s.options)
			if err != nil {
				return unusableState(ctx, err)
			}
			r := report.New(result, a.program())
			if detailed && r.Exit == janitor.ExitClean && r.Summary.Reclaim+r.Summary.Release > 0 {
				r.Exit = exitChanges
			}
			return a.conclude(ctx, r)
		},
	}
	cmd.Flags().BoolVar(&detailed, "detailed-exitcode", false, "exit 10 when there is something to reclaim")
	return cmd
}
