// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// app is what every command needs.
type app struct {
	clock  clock.Clock
	output string // "table" or "json"
}

const about = `Looks after the sandboxes of one place by hand.

CONNECTION is a URI, such as local: or local:///absolute/dir. HANDLE is a
sandbox's handle or the beginning of one, as long as no other begins so.

Exit status: 0 done; 1 failed; 2 wrong usage; 3 no such sandbox; 130 interrupted.
exec has the status of its command, 124 when the time was up, and 125 when the
command did not run or its end is not known.`

// run is main without the process around it; it returns the exit status.
func (a *app) run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	f := asFailure(ctx, command, err)
	f.print(command.ErrOrStderr(), a.output)
	return f.status
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "sandbox",
		Short:             "Look after sandboxes by hand",
		Long:              about,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.output != "table" && a.output != "json" {
				wrong := a.output
				a.output = "table"
				return usage("--output is table or json, not %q", wrong)
			}
			return nil
		},
	}
	root.PersistentFlags().StringVarP(&a.output, "output", "o", "table", "`FORMAT` of output and errors: table or json")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage("%v", err) })
	root.AddCommand(a.list(), a.show(), a.exec(), a.cp(), a.release(), a.rm())
	return root
}

// usageError is a mistake on the command line.
type usageError struct{ error }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// arguments demands one argument for each of names; a last name that ends in
// "..." takes one or more.
func arguments(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		more := strings.HasSuffix(names[len(names)-1], "...")
		if len(args) < len(names) || len(args) > len(names) && !more {
			return usage("the arguments are %s; there are %d", strings.Join(names, " "), len(args))
		}
		return nil
	}
}

func isUsage(err error) bool {
	var wrong usageError
	// cobra has no error type for a command that it does not know.
	return errors.As(err, &wrong) || strings.HasPrefix(err.Error(), "unknown command ")
}
