// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

func (a *app) exec() *cobra.Command {
	var (
		command backend.Command
		env     []string
		stdin   bool
	)
	cmd := &cobra.Command{
		Use:   "exec CONNECTION HANDLE -- COMMAND [ARGUMENT...]",
		Short: "Run a command inside a sandbox",
		Long: `Runs a command inside a sandbox and ends with its exit status. The end of each
output stream is kept, up to --max-output bytes, and printed when the command has
ended. The status is 124 when the time was up, and 125 when the command did not
run or its end is not known.`,
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if dash < 0 || len(twoWords(args[:dash])) != 2 || len(args) == dash {
				return cli.Usage("the arguments are CONNECTION HANDLE -- COMMAND [ARGUMENT...], with -- before the command")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			dash := cmd.ArgsLenAtDash()
			where := twoWords(args[:dash])
			command.Argv = args[dash:]
			if command.Env, err = environment(env); err != nil {
				return err
			}
			if command.Timeout <= 0 || command.MaxOutput <= 0 {
				return cli.Usage("--timeout and --max-output must be more than 0")
			}
			if command.Dir != "" && !path.IsAbs(command.Dir) {
				return cli.Usage("--workdir is an absolute path inside, such as /tmp, not %q", command.Dir)
			}
			if stdin {
				command.Stdin = cmd.InOrStdin()
			}
			conn, s, err := openAndFind(cmd.Context(), where)
			if err != nil {
				return err
			}
			result, err := conn.Exec(cmd.Context(), s.Ref, command)
			if err != nil {
				return conn.at(s.Handle, err)
			}
			if err := a.printResult(cmd, result); err != nil {
				return err
			}
			if err := ended(result); err != nil {
				return conn.refuse("run a command in sandbox", s.Handle, err)
			}
			return nil
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return cli.UsageError{Err: err, Next: "write -- before the command, whose options follow it; those of exec: sandbox exec --help"}
	})
	flags := cmd.Flags()
	flags.DurationVar(&command.Timeout, "timeout", time.Minute, "`TIME` after which the command and all it started are ended")
	flags.StringVarP(&command.Dir, "workdir", "w", "", "absolute `PATH` inside to start in (default: the sandbox's own)")
	flags.StringArrayVarP(&env, "env", "e", nil, "`NAME=VALUE` for the command's environment; may be repeated")
	flags.BoolVarP(&stdin, "stdin", "i", false, "give the command this standard input, up to its end")
	flags.IntVar(&command.MaxOutput, "max-output", backend.DefaultMaxOutput, "`BYTES` kept of each output stream")
	return cmd
}

func environment(pairs []string) (map[string]string, error) {
	env := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, cli.Usage("--env is NAME=VALUE")
		}
		env[name] = value
	}
	return env, nil
}

// execution is the JSON of exec. Bytes that are not UTF-8 become U+FFFD in the
// text, and then the whole stream stands in Base64 (RFC 4648), too.
type execution struct {
	ExitCode        int     `json:"exit_code"`
	Stdout          string  `json:"stdout"`
	Stderr          string  `json:"stderr"`
	StdoutBase64    []byte  `json:"stdout_base64,omitempty"`
	StderrBase64    []byte  `json:"stderr_base64,omitempty"`
	StdoutTruncated bool    `json:"stdout_truncated"`
	StderrTruncated bool    `json:"stderr_truncated"`
	TimedOut        bool    `json:"timed_out"`
	Terminated      bool    `json:"terminated"`
	TimeoutSeconds  float64 `json:"applied_timeout_seconds"`
}

func (a *app) printResult(cmd *cobra.Command, r backend.Result) error {
	if a.output == "json" {
		return cli.WriteJSON(cmd.OutOrStdout(), execution{
			ExitCode: r.ExitCode, Stdout: string(r.Stdout), Stderr: string(r.Stderr),
			StdoutBase64: unlessText(r.Stdout), StderrBase64: unlessText(r.Stderr),
			StdoutTruncated: r.StdoutTruncated, StderrTruncated: r.StderrTruncated,
			TimedOut: r.TimedOut, Terminated: r.Terminated, TimeoutSeconds: r.AppliedTimeout.Seconds(),
		})
	}
	for _, stream := range []struct {
		w         io.Writer
		name      string
		content   []byte
		truncated bool
	}{
		{cmd.OutOrStdout(), "standard output", r.Stdout, r.StdoutTruncated},
		{cmd.ErrOrStderr(), "standard error", r.Stderr, r.StderrTruncated},
	} {
		if stream.truncated {
			fmt.Fprintf(cmd.ErrOrStderr(), "sandbox: only the last %d bytes of %s were kept\n", len(stream.content), stream.name)
		}
		if _, err := stream.w.Write(stream.content); err != nil {
			return err
		}
	}
	return nil
}

// unlessText returns what JSON text cannot hold.
func unlessText(stream []byte) []byte {
	if utf8.Valid(stream) {
		return nil
	}
	return stream
}

// ended turns the end of a command into the exit status of exec.
func ended(r backend.Result) error {
	switch {
	case r.TimedOut:
		return timeUp(r.AppliedTimeout)
	case r.Terminated:
		return errors.New("the sandbox ended while the command ran")
	case r.ExitCode != 0:
		return exitStatus(r.ExitCode)
	}
	return nil
}

// timeUp is the failure of a command that was ended after so much time.
type timeUp time.Duration

func (t timeUp) Error() string { return fmt.Sprintf("the time was up after %s", time.Duration(t)) }
