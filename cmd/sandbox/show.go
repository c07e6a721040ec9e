// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

func (a *app) show() *cobra.Command {
	return &cobra.Command{
		Use:   "show CONNECTION HANDLE",
		Short: "Show all that is known of one sandbox",
		Args:  arguments("CONNECTION", "HANDLE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			_, s, err := openAndFind(cmd.Context(), twoWords(args))
			if err != nil {
				return err
			}
			v := a.view(s)
			if a.output == "json" {
				return cli.WriteJSON(cmd.OutOrStdout(), v)
			}
			return table(cmd.OutOrStdout(), a.describe(v))
		},
	}
}

// describe is v line by line; what is not known is left out.
func (a *app) describe(v view) [][]string {
	var rows [][]string
	row := func(name, value string) {
		if value != "" {
			rows = append(rows, []string{name, cell(value)})
		}
	}
	moment := func(name string, t time.Time) {
		if !t.IsZero() {
			row(name, fmt.Sprintf("%s (%s)", t.UTC().Format(time.RFC3339), until(t, a.clock.Now())))
		}
	}
	row("handle", v.Handle)
	row("incarnation", v.Incarnation)
	row("name", v.Name)
	row("state", v.words())
	row("state word", v.StateWord)
	row("problem", v.Problem)
	row("owner", v.Owner)
	row("holder", v.Holder)
	row("workdir", v.Workdir)
	moment("created", v.CreatedAt)
	moment("last used", v.LastUsedAt)
	moment("expires", v.ExpiresAt)
	moment("server ends", v.ServerEnds)
	if v.Attached != nil {
		row("attached", fmt.Sprint(*v.Attached))
	}
	row("workspaces", strings.Join(v.Workspaces, " "))
	if v.Tags == nil {
		row("tags", "not known")
	}
	for _, key := range slices.Sorted(maps.Keys(v.Tags)) {
		rows = append(rows, []string{"tag", cell(key) + " = " + cell(v.Tags[key])})
	}
	return rows
}
