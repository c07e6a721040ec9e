// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func (a *app) release() *cobra.Command {
	var approved bool
	cmd := &cobra.Command{
		Use:   "release CONNECTION HANDLE",
		Short: "Drop the claim of a holder that is gone",
		Long: `Drops the tag airflow_holder, so that another task can attach. That is right only
when the task named by it is over: Airflow does not notice that a claim was taken
from under it. Nothing else changes, and nothing at all when somebody else took
the sandbox meanwhile.`,
		Args: arguments("CONNECTION", "HANDLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			conn, s, err := openAndFind(cmd.Context(), twoWords(args))
			if err != nil {
				return err
			}
			if !s.TagsKnown || s.Problem != "" {
				return conn.refuse("release sandbox", s.Handle, fmt.Errorf("its holder cannot be read%s", because(s.Problem)))
			}
			holder, held := s.Tags[airflow.TagHolder]
			if !held {
				return a.printReleased(cmd, released{Handle: s.Handle})
			}
			if !approved {
				if err := confirm(cmd, fmt.Sprintf("%s on %q is held by %s.\nIs that over, and shall its claim be dropped?", s.Handle, conn.uri, describeHolder(holder))); err != nil {
					return err
				}
			}
			if err := dropClaim(cmd, conn, s.Ref, holder); err != nil {
				return err
			}
			return a.printReleased(cmd, released{s.Handle, holder})
		},
	}
	cmd.Flags().BoolVar(&approved, cli.AutoApprove, false, "do not ask")
	return cmd
}

// dropClaim takes holder's claim off, unless the fresh read shows another's.
func dropClaim(cmd *cobra.Command, conn connection, ref sandbox.Ref, holder string) error {
	var now string
	err := backend.EditTags(cmd.Context(), conn, ref, func(tags sandbox.Tags) {
		now = airflow.Holder(tags)
		airflow.Release(tags, holder)
	})
	if err == nil && now != holder && now != "" {
		err := fmt.Errorf("%w: it was held by %s, and now it is held by %s", backend.ErrConflict, cell(holder), cell(now))
		return conn.refuse("release sandbox", ref.Handle, err)
	}
	return conn.at(ref.Handle, err)
}

// describeHolder spells out which task a holder is.
func describeHolder(holder string) string {
	task, ok := airflow.ParseHolder(holder)
	if !ok {
		return cell(holder)
	}
	words := fmt.Sprintf("task %s of run %s of Dag %s", cell(task.TaskID), cell(task.RunID), cell(task.DagID))
	if task.MapIndex >= 0 {
		words += fmt.Sprintf(", map index %d", task.MapIndex)
	}
	return words
}

func because(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}

// released is the JSON of release; without a holder there was no claim.
type released struct {
	Handle string `json:"handle"`
	Holder string `json:"released_holder,omitempty"`
}

func (a *app) printReleased(cmd *cobra.Command, r released) error {
	if a.output == "json" {
		return cli.WriteJSON(cmd.OutOrStdout(), r)
	}
	text := "%s is not held; there is nothing to release\n"
	if r.Holder != "" {
		text = "released %s from " + describeHolder(r.Holder) + "\n"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), text, r.Handle)
	return err
}
