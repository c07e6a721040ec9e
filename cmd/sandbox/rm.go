// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func (a *app) rm() *cobra.Command {
	var approved, force bool
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "rm CONNECTION HANDLE...",
		Short: "Destroy sandboxes, and wait until they are gone",
		Long: `Destroys sandboxes with all that is in them, and waits until they are gone. One
that is held or protected is left alone, unless --force is given; with it one
whose record cannot be read is asked to go, too, which its backend may refuse.`,
		Args: arguments("CONNECTION", "HANDLE..."),
		RunE: func(cmd *cobra.Command, args []string) error {
			args = twoWords(args)
			conn, err := open(args[0])
			if err != nil {
				return err
			}
			doomed, err := a.doomed(cmd.Context(), conn, args[1:], force)
			if err != nil {
				return err
			}
			if !approved {
				if err := confirm(cmd, a.question(conn, doomed)); err != nil {
					return err
				}
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), patience)
			defer cancel()
			var failures []error
			for _, s := range doomed {
				if err := a.destroy(ctx, conn, s.Ref, force); err != nil {
					failures = append(failures, conn.at(s.Handle, err))
					continue
				}
				if err := a.printRemoved(cmd, s.Handle); err != nil {
					return err
				}
			}
			return errors.Join(failures...)
		},
	}
	cmd.Flags().BoolVar(&approved, cli.AutoApprove, false, "do not ask")
	cmd.Flags().BoolVarP(&force, "force", "f", false, "also one that is held or protected, and ask for one that is unreadable")
	cmd.Flags().DurationVar(&patience, "timeout", 2*time.Minute, "`TIME` to wait until all are gone")
	return cmd
}

// doomed reads what shall be destroyed. One that must be left alone stops all,
// before anything happened.
func (a *app) doomed(ctx context.Context, conn connection, handles []string, force bool) ([]sandbox.Sandbox, error) {
	var doomed []sandbox.Sandbox
	for _, handle := range handles {
		s, err := conn.find(ctx, handle)
		if err != nil {
			return nil, err
		}
		if err := a.spared(s); err != nil && !force {
			return nil, conn.refuse("destroy sandbox", s.Handle, err)
		}
		again := func(other sandbox.Sandbox) bool { return other.Ref == s.Ref }
		if !slices.ContainsFunc(doomed, again) {
			doomed = append(doomed, s)
		}
	}
	return doomed, nil
}

// spared says why s must be left alone, if it must.
func (a *app) spared(s sandbox.Sandbox) error {
	protected, until := sandbox.Protected(s.Tags, a.clock.Now())
	switch {
	case s.Problem != "" || !s.TagsKnown:
		return fmt.Errorf("its record cannot be read%s; --force asks the backend all the same", because(s.Problem))
	case airflow.Holder(s.Tags) != "":
		return fmt.Errorf("it is held by %s; --force destroys it all the same", describeHolder(airflow.Holder(s.Tags)))
	case protected && until.IsZero():
		return fmt.Errorf("it is protected by the tag %s; --force destroys it all the same", sandbox.TagProtect)
	case protected:
		return fmt.Errorf("it is protected until %s; --force destroys it all the same", until.Format(time.RFC3339))
	}
	return nil
}

func (a *app) question(conn connection, doomed []sandbox.Sandbox) string {
	var lines []string
	for _, s := range doomed {
		line := fmt.Sprintf("  %s  %s, owner %s", cell(s.Handle), s.State, cell(s.Tags[airflow.TagOwner]))
		if s.Tags[sandbox.TagManagedBy] == sandbox.ManagedByTerraform {
			line += ", managed by Terraform, which will want to make it again"
		}
		lines = append(lines, line)
	}
	return fmt.Sprintf("Destroy on %q, with all that is inside:\n%s\nGo on?", conn.uri, strings.Join(lines, "\n"))
}

func (a *app) destroy(ctx context.Context, conn connection, ref sandbox.Ref, force bool) error {
	if !force {
		// Once more, since the question may have stood for a while.
		s, err := conn.Get(ctx, ref)
		if err != nil {
			return err
		}
		if err := a.spared(s); err != nil {
			return conn.refuse("destroy sandbox", ref.Handle, err)
		}
	}
	if err := conn.Destroy(ctx, ref); err != nil {
		return err
	}
	return backend.WaitGone(ctx, conn, ref)
}

func (a *app) printRemoved(cmd *cobra.Command, handle string) error {
	if a.output == "json" {
		return cli.WriteJSON(cmd.OutOrStdout(), map[string]string{"removed": handle})
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", handle)
	return err
}
