// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// app is what every command needs: the process around it, and its flags.
type app struct {
	clock   clock.Clock
	in, out *os.File
	errs    *os.File
	log     *slog.Logger

	configFile  string
	connections []string
	mode        string
	state       string
	output      string
	logLevel    string
}

const about = `Finds sandboxes that nobody needs any more, and reclaims them.

A sandbox goes only when it is proven dead: past its recorded end and the
backend's own, half torn down, or of a run that its own Airflow says is over. A
claim whose task is over is released, and the sandbox left. Whatever cannot be
read or understood counts as alive. Each deletion is shown with its evidence, is
remembered before it is asked for, and is confirmed by a fresh read.

Places are named by connection URIs, such as local: or local:///absolute/dir, or
by the connections of a configuration file (--config, or $JANITOR_CONFIG).

Exit status: 0 clean; 1 a bug; 2 partial: something was not looked at to the end,
failed, or needs a person; 3 a breaker refused; 4 configuration, usage or state;
5 nothing could be read; 6 no such sandbox; 75 another run holds the state; 130
and 143 stopped by SIGINT and SIGTERM, with everything saved.`

// execute is main without the process's end; it returns the exit status.
func (a *app) execute(args []string) (status int) {
	defer func() {
		if bug := recover(); bug != nil {
			fmt.Fprintf(a.errs, "janitor: this is a bug, please report it: %v\n%s", bug, debug.Stack())
			status = cli.ExitBug
		}
	}()
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	err := root.ExecuteContext(context.Background())
	if cli.AsksForJSON(args) {
		a.output = "json" // also when a mistake stood before it
	}
	return a.status(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "janitor",
		Short:             "Find leaked sandboxes and reclaim them",
		Long:              about,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) },
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFile, "config", os.Getenv("JANITOR_CONFIG"), "configuration `FILE`; without it, name places by URI")
	flags.StringArrayVar(&a.connections, "connection", nil, "only the connection `NAME` of the configuration; may be repeated")
	flags.StringVar(&a.mode, "mode", "", "report or enforce; the weaker of the `MODE`s of flag, file and rule wins")
	flags.StringVar(&a.state, "state", "", "where suspects are remembered: file:///DIRECTORY or none (`URI`); else as configured, else the user's state directory")
	flags.StringVarP(&a.output, "output", "o", "table", "`FORMAT` of output and errors: table or json")
	flags.StringVar(&a.logLevel, logLevelFlag, "info", "`LEVEL` of the log on standard error: debug, info, warn or error; on a terminal warn, but of run")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage("%w", err) })
	root.AddCommand(a.plan(), a.sweep(), a.run(), a.explain(), a.retry(), a.config())
	cli.AddVersion(root, version, func() bool { return a.output == "json" })
	return root
}

const logLevelFlag = "log-level"

// prepare checks the flags that every command has, and opens the log: text for
// a person at a terminal, JSON for whoever collects it. A person gets a report,
// which tells what the log's lines of info would.
func (a *app) prepare(cmd *cobra.Command) error {
	if wrong := a.output; wrong != "table" && wrong != "json" {
		a.output = "table"
		return cli.Usage("--output is table or json, not %q", wrong)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.logLevel)); err != nil {
		return cli.Usage("--log-level is debug, info, warn or error, not %q", a.logLevel)
	}
	atTerminal := term.IsTerminal(int(a.errs.Fd()))
	if atTerminal && cmd.Name() != "run" && !cmd.Flags().Changed(logLevelFlag) {
		level = slog.LevelWarn
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: withUnit}
	if atTerminal {
		a.log = slog.New(slog.NewTextHandler(a.errs, options))
	} else {
		a.log = slog.New(slog.NewJSONHandler(a.errs, options))
	}
	return nil
}

// withUnit writes a duration with its unit, which slog's JSON leaves out.
func withUnit(_ []string, attr slog.Attr) slog.Attr {
	if attr.Value.Kind() == slog.KindDuration {
		attr.Value = slog.StringValue(attr.Value.Duration().String())
	}
	return attr
}
