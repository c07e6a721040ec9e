// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

const aboutModal = `Serves Modal's protocol to Modal's own clients, Go and Python.

On standard output it prints the environment that they need, one export line a
variable; everything else goes to standard error:

    emulator modal > modal.env     in one terminal, which serves
    . ./modal.env                  in every other

An image is a name and is not built: a sandbox sees this machine's programs, and
keeps files in its working directory only. A build fails when a command is
"RUN false", "RUN exit N" or holds the text of a --fail-build. A policy that
allows some hosts or addresses cuts the network altogether: here it cannot be
opened in part.

Where production is known from measurements, the defaults are those; where it is
not known what it does, there is a flag.

A FAULT is METHOD=CODE[,OPTION...]: a call, named as --log-calls names it, and
the gRPC code of its answer. Faults of one call happen one after another. The
OPTIONs:

    after            the call takes effect, and only its reply is lost
    stall            OK, but no answer ever comes
    delay=D          the answer comes so late
    retry-after=D    an error that asks the client to come again so late
    keep=N           OK, but a page of a list ends early, after N sandboxes
    skip=N           N calls pass first
    times=N          so many calls are hit instead of one; -1: all
    message=TEXT     what the error says; takes the rest, commas included

    SandboxCreateV2=UNAVAILABLE,after                  made, but the reply is lost
    SandboxTagsSetV2=PERMISSION_DENIED,times=-1        tags are never written
    SandboxListV2=RESOURCE_EXHAUSTED,retry-after=2s    come again in two seconds
    SandboxListV2=OK,skip=1,keep=0                     the second page is the last
    SandboxTerminateV2=OK,after,stall                  ended, but never answered`

func modalCommand() *cobra.Command {
	var opts modal.Options
	var wrong faults
	var logCalls bool
	cmd := &cobra.Command{
		Use:   "modal",
		Short: "Serve Modal's protocol",
		Long:  aboutModal,
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkNumbers(cmd.Flags()); err != nil {
				return err
			}
			opts.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
			if logCalls {
				opts.Watch = func(call modal.Call) { tell(opts.Log, call) }
			}
			return serveModal(cmd.Context(), opts, wrong, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&opts.Listen, "listen", "127.0.0.1:0", "`ADDRESS` of the loopback; port 0 takes a free one")
	flags.StringVar(&opts.Workspace, "workspace", "emulator", "`NAME` of the account")
	flags.StringSliceVar(&opts.Environments, "environment", []string{"main"}, "`NAME`s of its environments, the default one first")
	flags.StringVar(&opts.Token.ID, "token-id", "", "`ID` of the token; else a random one")
	flags.StringVar(&opts.Token.Secret, "token-secret", "", "`SECRET` of the token; else a random one")

	flags.DurationVar(&opts.ClockAhead, "clock-ahead", 0, "how far the server's clock is ahead of this machine's")
	flags.DurationVar(&opts.Latency, "latency", 0, "how long every call of the control plane takes at least")
	flags.IntVar(&opts.PageSize, "page-size", 100, "sandboxes on a page of a list")
	flags.DurationVar(&opts.TimestampGranularity, "timestamp-granularity", 0, "round times of creation down, so that sandboxes share one")
	flags.DurationVar(&opts.PollLag, "poll-lag", 35*time.Second, "how long a terminated sandbox still polls as running")
	flags.DurationVar(&opts.TimeoutLag, "timeout-lag", 10*time.Second, "how long a sandbox outlives its timeout")
	flags.DurationVar(&opts.DeadlineReportDelay, "deadline-report-delay", 100*time.Millisecond, "how late the end of a command past its deadline is told; negative: at once")
	flags.DurationVar(&opts.BuildTime, "build-time", 0, "how long an image takes to build")
	flags.StringArrayVar(&opts.FailBuilds, "fail-build", nil, "fail the build of images with a command that holds `TEXT`; may be repeated")

	flags.BoolVar(&opts.ReplayCreates, "replay-creates", false, "answer a create that repeats an idempotency key with the first sandbox")
	flags.BoolVar(&opts.TerminateUnknownOK, "terminate-unknown-ok", false, "terminating an unknown sandbox is no error")
	flags.BoolVar(&opts.KeepTaskID, "keep-task-id", false, "an ended sandbox still has a task, to which there is no access")
	flags.BoolVar(&opts.HoldName, "hold-name", false, "a terminated sandbox holds its name as long as it polls as running")
	flags.Var((*generations)(&opts.ListWithoutTags), "list-without-tags", "leave tags out of lists, for `GENERATIONS` v1, v2 or v1,v2")
	flags.Var((*generations)(&opts.ListWithoutTimeout), "list-without-timeout", "leave timeouts out of lists, for `GENERATIONS`")
	flags.DurationVar(&opts.RetainFinished, "retain-finished", 0, "how long a finished sandbox is known; 0: always")
	flags.IntVar(&opts.MaxTagBytes, "max-tag-bytes", 0, "refuse longer tags; 0: none")
	flags.BoolVar(&opts.NoSeededAccess, "no-seeded-access", false, "a create gives no access to the command router")
	flags.BoolVar(&opts.NoIssuedAt, "no-issued-at", false, "tokens do not tell when they were issued")
	flags.BoolVar(&opts.NoCheckedAt, "no-checked-at", false, "MountBatchedCheckExistence does not tell the server's time")
	flags.DurationVar(&opts.AccessLifetime, "access-lifetime", time.Hour, "how long an access to the command router is good")
	flags.StringVar(&opts.RouterScheme, "router-scheme", "", "`SCHEME` of the command router's address; else what the client at hand can use")

	flags.Var(&wrong, "fail", aboutFaults)
	flags.BoolVar(&logCalls, "log-calls", false, "tell every call and its code on standard error")
	return cmd
}

// serveModal serves until ctx ends.
func serveModal(ctx context.Context, opts modal.Options, wrong faults, out io.Writer) error {
	server, err := modal.Start(opts)
	if err != nil {
		return err
	}
	for _, f := range wrong {
		server.Fail(f.method, f.Fault)
	}
	if err := server.Preflight(ctx); err != nil && ctx.Err() == nil {
		opts.Log.Warn("commands in sandboxes will fail", "error", err)
	}
	for _, variable := range withProxies(server.Environ(), os.Getenv) {
		name, value, _ := strings.Cut(variable, "=")
		if _, err = fmt.Fprintf(out, "export %s=%s\n", name, quote(value)); err != nil {
			break
		}
	}
	if err == nil {
		opts.Log.Info("serving until a signal", "url", server.URL())
		<-ctx.Done()
	}
	if closing := server.Close(); err == nil {
		err = closing
	}
	return err
}

// checkNumbers refuses numbers and times that mean nothing.
func checkNumbers(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		number, numeric := flag.Value.String(), flag.Value.Type() == "int" || flag.Value.Type() == "duration"
		switch {
		case flag.Name == "page-size" && number == "0":
			err = cli.Usage("--page-size: a page holds at least one sandbox")
		case flag.Name != "deadline-report-delay" && numeric && strings.HasPrefix(number, "-"):
			err = cli.Usage("--%s: %s is below zero", flag.Name, number)
		}
	})
	return err
}

// tell logs a call that has been handled.
func tell(log *slog.Logger, call modal.Call) {
	if call.After {
		log.Info("call", "number", call.Number, "method", call.Method, "code", call.Code)
	}
}

// withProxies keeps what the environment exempts from proxies already.
func withProxies(variables []string, getenv func(string) string) []string {
	kept := make([]string, 0, len(variables))
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		if before := getenv(name); before != "" && strings.EqualFold(name, "NO_PROXY") {
			variable = name + "=" + before + "," + value
		}
		kept = append(kept, variable)
	}
	return kept
}

// quote makes one word of a POSIX shell of s.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r)
	}
	if strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// generations is a flag for a set of generations.
type generations modal.Generations

func (g *generations) String() string {
	return [...]string{"", "v1", "v2", "v1,v2"}[*g]
}

func (g *generations) Set(text string) error {
	*g = 0
	for name := range strings.SplitSeq(text, ",") {
		switch name {
		case "v1":
			*g |= generations(modal.V1)
		case "v2":
			*g |= generations(modal.V2)
		default:
			return fmt.Errorf("%q is neither v1 nor v2", name)
		}
	}
	return nil
}

func (g *generations) Type() string { return "generations" }
