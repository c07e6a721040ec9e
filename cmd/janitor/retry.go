// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
)

func (a *app) retry() *cobra.Command {
	return &cobra.Command{
		Use:   "retry CONNECTION HANDLE",
		Short: "Let the next sweep try again what is quarantined",
		Long: `After five attempts the janitor asks no more for something that will not go, and
names it under NEEDS YOU. When its cause is settled, retry lets the next sweep
ask again, from the first attempt. CONNECTION is a name of the configuration or a
URI; CONNECTION#HANDLE, as in reports, will do as well, and so will the beginning
of a handle. Nothing is destroyed by retry itself.`,
		Example: `  janitor retry --config janitor.yaml lab taskowned-4odwe3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, name, handle, err := a.siteOf(args)
			if err != nil {
				return err
			}
			if s.state == nil {
				return cli.Usage("there is no state to change: retry needs the --state that the sweeps use")
			}
			ctx, done := a.stoppable(cmd.Context())
			defer done()
			err = s.about(ctx, handle, func(found string) error {
				handle = found
				return janitor.Retry(ctx, s.options, name, found)
			})
			if err != nil {
				return unexplained(ctx, err)
			}
			if a.output == "json" {
				return cli.WriteJSON(a.out, map[string]string{"connection": name, "handle": handle, "next": "the next sweep may ask for it again"})
			}
			_, err = fmt.Fprintf(a.out, "The next sweep may ask for %s#%s again.\n", name, handle)
			return err
		},
	}
}
