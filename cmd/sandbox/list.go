// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

func (a *app) list() *cobra.Command {
	return &cobra.Command{
		Use:   "list CONNECTION",
		Short: "List every sandbox of the place",
		Args:  arguments("CONNECTION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			conn, err := open(args[0])
			if err != nil {
				return err
			}
			listing := listing{Connection: conn.uri, Complete: true, Sandboxes: []view{}}
			var broken error
			for s, err := range conn.List(cmd.Context()) {
				if err != nil {
					listing.Complete, broken = false, fmt.Errorf("the list is incomplete: %w", err)
					break
				}
				listing.Sandboxes = append(listing.Sandboxes, a.view(s))
			}
			if err := a.printListing(cmd, listing); err != nil {
				return err
			}
			return conn.at("", broken)
		},
	}
}

// listing is the JSON of list. What an incomplete one does not show may exist.
type listing struct {
	Connection string `json:"connection"`
	Complete   bool   `json:"complete"`
	Sandboxes  []view `json:"sandboxes"`
}

func (a *app) printListing(cmd *cobra.Command, l listing) error {
	if a.output == "json" {
		return cli.WriteJSON(cmd.OutOrStdout(), l)
	}
	if len(l.Sandboxes) == 0 && !l.Complete {
		return nil
	}
	now := a.clock.Now()
	rows := [][]string{{"HANDLE", "STATE", "OWNER", "HOLDER", "ENDS", "CREATED"}}
	for _, v := range l.Sandboxes {
		rows = append(rows, []string{
			cell(v.Handle), v.words(), cell(v.Owner), cell(v.Holder), until(v.end(), now), until(v.CreatedAt, now),
		})
	}
	if err := table(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	for _, v := range l.Sandboxes {
		if v.Problem != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "sandbox: the record of %s cannot be read: %s\n", cell(v.Handle), cell(v.Problem))
		}
	}
	return nil
}
