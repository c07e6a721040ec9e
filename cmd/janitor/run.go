// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/report"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/schedule"
)

func (a *app) run() *cobra.Command {
	return &cobra.Command{
		Use:   "run [URI...]",
		Short: "Sweep on a schedule until stopped",
		Long: `Sweeps each connection on its schedule, a cron line in UTC: its own, or that of
the configuration, or every ten minutes. Runs never overlap; one that is due
while it still runs is skipped, counted and logged. A clock that is set and a
machine that slept are noticed within a minute.

SIGHUP reads the configuration again and keeps the former one when there is a
mistake in it. The first SIGTERM or SIGINT begins nothing new, gives calls in
flight 25 seconds, saves and exits with 143 or 130; the second stops at once.

A run that did something or needs somebody writes its report to standard output;
the log tells of every run.`,
		Example: `  janitor run --config /etc/sandbox-janitor/janitor.yaml`,
		RunE: func(cmd *cobra.Command, uris []string) error {
			s, err := a.site(a.connections, uris)
			if err != nil {
				return err
			}
			ctx, done := a.stoppable(cmd.Context())
			defer done()
			hangups := make(chan os.Signal, 1)
			signal.Notify(hangups, syscall.SIGHUP)
			defer signal.Stop(hangups)
			return a.follow(ctx, s, uris, hangups)
		},
	}
}

// follow sweeps s on its schedules until ctx ends. Each of hangups makes it read
// the configuration again.
func (a *app) follow(ctx context.Context, s *site, uris []string, hangups <-chan os.Signal) error {
	var current atomic.Pointer[site]
	current.Store(s)
	reload := make(chan schedule.Jobs)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangups:
				a.reload(ctx, &current, uris, reload)
			}
		}
	}()
	loop := schedule.Loop{Clock: a.clock, Log: a.log, Run: func(ctx context.Context, names []string) {
		a.sweepDue(ctx, current.Load(), names)
	}}
	a.log.Info("janitor started", "version", version, "mode", modeOf(s), "connections", s.names)
	loop.Follow(ctx, s.jobs(), reload)
	a.log.Info("janitor stopped")
	return stoppedBy(ctx)
}

// reload replaces the current site, or keeps it when the new one has a mistake.
func (a *app) reload(ctx context.Context, current *atomic.Pointer[site], uris []string, jobs chan<- schedule.Jobs) {
	next, err := a.site(a.connections, uris)
	if err != nil {
		a.log.Error("the new configuration has a mistake; the former one stays in force", "error", err)
		return
	}
	if old := current.Load(); next.state == nil && old.state == nil {
		next.options.Store = old.options.Store // what is only in memory survives a reload
	}
	current.Store(next)
	a.log.Info("configuration reloaded", "mode", modeOf(next), "connections", next.names)
	select {
	case jobs <- next.jobs():
	case <-ctx.Done():
	}
}

func modeOf(s *site) string { return s.options.Connections[0].Policy.Mode.String() }

// jobs is one schedule for each connection. The configuration has been checked.
func (s *site) jobs() schedule.Jobs {
	jobs := schedule.Jobs{}
	for _, name := range s.names {
		if line, err := schedule.Parse(s.config.ScheduleOf(name)); err == nil {
			jobs[name] = line
		}
	}
	return jobs
}

// sweepDue sweeps the named connections, those that still are configured.
func (a *app) sweepDue(ctx context.Context, s *site, names []string) {
	options := s.options
	options.Connections = slices.DeleteFunc(slices.Clone(options.Connections), func(c janitor.Connection) bool {
		return !slices.Contains(names, c.Name)
	})
	if len(options.Connections) == 0 {
		return
	}
	r, err := a.sweepOnce(ctx, s, options)
	if err != nil {
		a.log.Error("the run could not begin", "error", err)
		return
	}
	a.tell(r)
}

// tell logs a run, and writes its report when there is something in it.
func (a *app) tell(r report.Report) {
	if r.Busy != nil {
		a.log.Warn("another run holds the state; skipped", "run", r.Busy.ID, "host", r.Busy.Host, "until", r.Busy.Until)
		return
	}
	acted := false
	for _, c := range r.Connections {
		acted = acted || len(c.Actions) > 0
		a.log.Info("swept", "run", r.RunID, "connection", c.Name, "complete", c.Look.Complete, "error", c.Look.Error,
			"listed", c.Counts.Listed, "alive", c.Counts.Alive, "reclaim", c.Counts.Reclaim, "release", c.Counts.Release, "unheard", c.Counts.Unheard, "later", c.Counts.Later, "needs_you", c.Counts.NeedsYou)
	}
	if !acted && r.Exit == janitor.ExitClean {
		return
	}
	if err := a.write(r); err != nil {
		a.log.Error("the report is not written", "error", err)
	}
}
