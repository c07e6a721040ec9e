// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/report"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/store"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

func (a *app) sweep() *cobra.Command {
	var approved bool
	var accept string
	cmd := &cobra.Command{
		Use:   "sweep [URI...]",
		Short: "Reclaim what is dead",
		Long: `Looks, decides, and reclaims what is dead and may be reclaimed: the mode must be
enforce, in the configuration and of the rule. Without a configuration file the
mode is report, and --mode enforce changes that.

On a terminal it first shows what will go and wants "yes" typed; without one it
needs --auto-approve. It then looks again: what has come alive is spared, and
what was not shown stays.

The first SIGINT or SIGTERM begins nothing new, gives calls in flight 25 seconds
and saves; the second stops at once. Whatever stops it, the next run finds what
was asked for and takes it from there. While another run holds the state, it
exits 75 and touches nothing.

When too large a share of eight or more would go on proofs without a date of
their own, nothing goes and the exit status is 3; plan prints a token for exactly
that set, which --accept lets pass once. A token of another set lets nothing pass,
and that is said. So it is when another place answers than before, such as
another account's.`,
		Example: `  janitor sweep local: --mode enforce
  janitor sweep --config janitor.yaml --connection lab --auto-approve`,
		RunE: func(cmd *cobra.Command, uris []string) error {
			s, err := a.site(a.connections, uris)
			if err != nil {
				return err
			}
			s.each(func(p *verdict.Policy) { p.Accept = accept })
			ctx, done := a.stoppable(cmd.Context())
			defer done()
			if !approved {
				if s.options.Approved, err = a.approve(ctx, s); err != nil {
					return err
				}
			}
			r, err := a.sweepOnce(ctx, s, s.options)
			if err != nil {
				return unusableState(ctx, err)
			}
			if why := unmatched(accept, r.Result); why != "" {
				a.log.Warn(why)
			}
			return a.conclude(ctx, r)
		},
	}
	cmd.Flags().BoolVar(&approved, cli.AutoApprove, false, "do not ask")
	cmd.Flags().StringVar(&accept, "accept", "", "let pass once what a breaker refused under this `TOKEN`, which plan prints")
	return cmd
}

// unmatched says why --accept let nothing pass: the token names no set of today.
func unmatched(token string, result janitor.Result) string {
	if token == "" || result.Busy != nil {
		return ""
	}
	var present []string
	for _, c := range result.Connections {
		if c.Token == token {
			return ""
		}
		if c.Token != "" {
			present = append(present, c.Token+" ("+c.Name+")")
		}
	}
	if len(present) == 0 {
		return "--accept " + token + " names no set: there is none to accept"
	}
	return "--accept " + token + " names no set that is there now; present: " + strings.Join(present, ", ")
}

// each changes the policy of every selected connection.
func (s *site) each(change func(*verdict.Policy)) {
	for i := range s.options.Connections {
		change(&s.options.Connections[i].Policy)
	}
}

// sweepOnce sweeps and writes the journal.
func (a *app) sweepOnce(ctx context.Context, s *site, options janitor.Options) (report.Report, error) {
	result, err := janitor.Sweep(ctx, options)
	if err != nil {
		return report.Report{}, err
	}
	if s.state != nil {
		// No decision rests on the journal: the run stands without it.
		if err := s.state.Journal(context.WithoutCancel(ctx), store.Entries(result)); err != nil {
			a.log.Error("what was done is not in the journal", "error", err)
		}
	}
	return report.New(result, a.program()), nil
}

// approve shows what would go, waits for a person's yes, and returns what that
// was said to. Where nothing would go there is nothing to ask, and nothing may go.
func (a *app) approve(ctx context.Context, s *site) (func(string, verdict.Verdict) bool, error) {
	if a.output != "table" || !term.IsTerminal(int(a.in.Fd())) {
		return nil, cli.Usage("there is no terminal to ask on, or no table to show: sweep needs --auto-approve")
	}
	result, err := janitor.Plan(ctx, s.options)
	if err != nil {
		return nil, unusableState(ctx, err)
	}
	r := report.New(result, a.program())
	if r.Summary.Reclaim+r.Summary.Release > 0 {
		if err := a.ask(ctx, r); err != nil {
			return nil, err
		}
	}
	return shown(result), nil
}

// shown reports whether a plan showed that something would go, or only its claim.
func shown(plan janitor.Result) func(string, verdict.Verdict) bool {
	type one struct {
		connection string
		verdict.Key
		verdict.Act
	}
	all := make(map[one]bool)
	for _, c := range plan.Connections {
		for _, v := range c.Verdicts {
			if v.Outcome == verdict.Condemned && v.Mode == verdict.Enforce && len(c.Refused) == 0 {
				all[one{c.Name, v.Key, v.Act}] = true
			}
		}
	}
	return func(connection string, v verdict.Verdict) bool { return all[one{connection, v.Key, v.Act}] }
}

// question names apart what is lost and what is only let go.
func question(reclaim, release int) string {
	switch {
	case release == 0:
		return fmt.Sprintf("Reclaim %d? Files in them are lost.", reclaim)
	case reclaim == 0:
		return fmt.Sprintf("Release the claims on %d? Nothing is destroyed.", release)
	}
	return fmt.Sprintf("Reclaim %d and release the claims on %d? Files in what is reclaimed are lost.", reclaim, release)
}

func (a *app) ask(ctx context.Context, r report.Report) error {
	if err := a.write(r); err != nil {
		return err
	}
	err := cli.Confirm(ctx, a.in, a.errs, "\n"+question(r.Summary.Reclaim, r.Summary.Release))
	if errors.Is(err, cli.ErrDeclined) {
		return exit{cli.ExitFailed, err}
	}
	return err
}
