// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

const about = `Serves a vendor's protocol on this machine.

Commands are isolated as those of local: sandboxes are, but the protocol is
protected by a token in plain text only: nothing but the loopback is listened on.

Exit status: 0 stopped by SIGINT, SIGTERM or SIGHUP, with everything removed;
2 failed; 4 wrong usage.`

// run is main without the process around it; it returns the exit status.
func run(ctx context.Context, root *cobra.Command, args []string, out, errs io.Writer) int {
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(errs, "emulator: %v\n", err)
	if cli.IsUsage(err) {
		return cli.ExitUsage
	}
	return cli.ExitFailed
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:               "emulator",
		Short:             "Serve a vendor's protocol on this machine",
		Long:              about,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              subcommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage("%w", err) })
	root.AddCommand(modalCommand())
	cli.AddVersion(root, version, func() bool { return false })
	return root
}

func subcommand(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usage("unknown vendor %q; try emulator --help", args[0])
	}
	return nil
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return cli.Usage("there are no arguments, only flags: %q", strings.Join(args, " "))
	}
	return nil
}
