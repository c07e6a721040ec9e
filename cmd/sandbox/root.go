// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// app is what every command needs.
type app struct {
	clock  clock.Clock
	output string // "table" or "json"
}

const about = `Looks after the sandboxes of one place by hand.

CONNECTION is a URI, such as local: or local:///absolute/dir. HANDLE is a
sandbox's handle or the beginning of one, as long as no other begins so. For the
two, CONNECTION#HANDLE, as in the janitor's reports, will do as well.

Exit status: 0 done; 1 a bug; 2 failed; 4 wrong usage; 5 the place cannot be
read; 6 no such sandbox; 130 and 143 stopped by SIGINT and SIGTERM. exec has the
status of its command, 124 when the time was up, and 125 when the command did not
run or its end is not known.`

// run is main without the process around it; it returns the exit status.
func (a *app) run(ctx context.Context, root *cobra.Command, args []string) (status int) {
	defer func() {
		if bug := recover(); bug != nil {
			fmt.Fprintf(root.ErrOrStderr(), "sandbox: this is a bug, please report it: %v\n%s", bug, debug.Stack())
			status = cli.ExitBug
		}
	}()
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	f := asFailure(ctx, command, err)
	if f.Message != "" {
		f.Print(command.ErrOrStderr(), root.Name(), a.output == "json" || cli.AsksForJSON(args))
	}
	return f.status
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "sandbox",
		Short:             "Look after sandboxes by hand",
		Long:              about,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if a.output != "table" && a.output != "json" {
				wrong := a.output
				a.output = "table"
				return cli.Usage("--output is table or json, not %q", wrong)
			}
			return nil
		},
	}
	root.PersistentFlags().StringVarP(&a.output, "output", "o", "table", "`FORMAT` of output and errors: table or json")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage("%v", err) })
	root.AddCommand(a.list(), a.show(), a.exec(), a.cp(), a.release(), a.rm())
	cli.AddVersion(root, version, func() bool { return a.output == "json" })
	return root
}

// confirm asks the person at the terminal.
func confirm(cmd *cobra.Command, question string) error {
	err := cli.Confirm(cmd.Context(), os.Stdin, cmd.ErrOrStderr(), question)
	if errors.Is(err, cli.ErrNoTerminal) {
		return cli.UsageError{Err: err}
	}
	return err
}

// twoWords parts CONNECTION#HANDLE, where a command takes a handle.
func twoWords(args []string) []string {
	if len(args) == 0 {
		return nil
	}
	connection, handle, both := strings.Cut(args[0], "#")
	if !both {
		return args
	}
	return append([]string{connection, handle}, args[1:]...)
}

// arguments demands one argument for each of names; a last name that ends in
// "..." takes one or more.
func arguments(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		more := strings.HasSuffix(names[len(names)-1], "...")
		if len(names) > 1 && strings.HasPrefix(names[1], "HANDLE") {
			args = twoWords(args)
		}
		if len(args) < len(names) || len(args) > len(names) && !more {
			return cli.Usage("want %s, not %q", strings.Join(names, " "), strings.Join(args, " "))
		}
		return nil
	}
}
