// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

func (a *app) config() *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Check the configuration and print what is in force",
		Long: `Reads the configuration, checks it to the last key, and prints what is in force
with the given flags, defaults included, as YAML that --config reads to the same
effect, or as JSON. Secrets are in no configuration. No connection is opened.

The file, with every key and its default:

  mode: report                # | enforce; the weaker of this, the rule's and --mode wins
  state: file:///DIRECTORY    # | none; default: this user's state directory
  schedule: "*/10 * * * *"    # of run; UTC, or "TZ=ZONE ..."
  airflow:
    NAME: {url: "https://HOST", deployment: MARKER}
  connections:
    NAME:
      uri: "local:"           # required
      schedule: "@hourly"     # default: the one above
      airflow: NAME           # believed about sandboxes tagged taskowned_deployment=MARKER
      exclusive: true         # default: false; about those without the tag, too
      trust_host_clock: true  # default: false; where the place does not tell its time
      rules: {expired: enforce, failed_teardown: enforce, retired: enforce,
              stale_holder: report, finished_owner: report, orphaned_workspace: report}
  grace: {expired: 5m, failed_teardown: 15m, retired: 1h,
          stale_holder: 15m, finished_owner: 30m, orphaned_workspace: 24h}
  limits: {deletes_per_run: 20, share: 0.25, run_deadline: 10m}
  protect: {owners: ["PATTERN*"], tags: {KEY: VALUE}, handles: ["NAME#HANDLE"]}`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.configuration()
			if err != nil {
				return err
			}
			if a.output == "json" {
				return cli.WriteJSON(a.out, c)
			}
			text, err := c.YAML()
			if err != nil {
				return err
			}
			_, err = a.out.Write(text)
			return err
		},
	}
}
