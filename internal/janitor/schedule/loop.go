// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

const (
	// lookInterval bounds the time between two looks at the wall clock: a timer
	// does not notice that the clock was set or that the machine slept.
	lookInterval = time.Minute
	// jumpTolerance is how far the clock may be off between two looks before
	// it counts as a jump.
	jumpTolerance = time.Minute
	// maxCounted bounds the counting of firings that were slept through.
	maxCounted = 10_000
)

// Jobs says what fires when: a schedule for each name.
type Jobs map[string]Schedule

// Loop calls Run when jobs are due. There is never more than one run: jobs due
// together run together; a job due while others run is run right after them; a
// job due while it runs itself is skipped, and the skip is counted and logged.
type Loop struct {
	Clock clock.Clock
	Log   *slog.Logger
	// Run runs the named jobs, in sorted order, and returns when they are done
	// or, soon, when ctx is. A panic in it is logged and ends only this run.
	Run func(ctx context.Context, names []string)

	jobs    Jobs
	next    map[string]time.Time // absent: never
	running map[string]bool
	waiting map[string]bool
	skipped int
	looked  time.Time // wall time of the last look
	wait    time.Duration
}

// Follow runs jobs until ctx ends, and then returns when the run in progress
// has. Each value from reload replaces all jobs.
func (l *Loop) Follow(ctx context.Context, jobs Jobs, reload <-chan Jobs) {
	l.running, l.waiting = map[string]bool{}, map[string]bool{}
	l.replace(jobs)
	ended := make(chan struct{})
	for {
		l.look()
		if len(l.running) == 0 && len(l.waiting) > 0 && ctx.Err() == nil {
			l.start(ctx, ended)
		}
		timer := time.NewTimer(l.untilNext())
		select {
		case <-ctx.Done():
			timer.Stop()
			l.drain(ended)
			return
		case <-ended:
			clear(l.running)
		case jobs := <-reload:
			l.replace(jobs)
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (l *Loop) now() time.Time { return l.Clock.Now().Round(0) }

// replace takes new jobs. A job whose schedule is unchanged keeps its next
// firing, so that a reload neither repeats nor delays it.
func (l *Loop) replace(jobs Jobs) {
	now, old, due := l.now(), l.jobs, l.next
	l.jobs, l.next = jobs, make(map[string]time.Time, len(jobs))
	for name, s := range jobs {
		if next, ok := due[name]; ok && old[name].String() == s.String() {
			l.next[name] = next
		} else {
			l.plan(name, now)
		}
	}
	maps.DeleteFunc(l.waiting, func(name string, _ bool) bool { _, ok := jobs[name]; return !ok })
	l.looked, l.wait = now, 0
	for _, name := range slices.Sorted(maps.Keys(l.next)) {
		l.Log.Info("scheduled", "job", name, "schedule", jobs[name].String(), "next", l.next[name])
	}
}

func (l *Loop) plan(name string, after time.Time) {
	if next := l.jobs[name].Next(after); next.IsZero() {
		delete(l.next, name)
	} else {
		l.next[name] = next
	}
}

// look reads the wall clock and moves every job that is due to waiting.
func (l *Loop) look() {
	now := l.now()
	switch off := now.Sub(l.looked.Add(l.wait)); {
	case now.Before(l.looked.Add(-jumpTolerance)):
		l.Log.Warn("the clock went back; all schedules start anew", "by", l.looked.Sub(now))
		for name := range l.jobs {
			l.plan(name, now)
		}
	case off > jumpTolerance:
		l.Log.Warn("the clock jumped ahead, or the machine slept", "by", off)
	}
	l.looked = now
	for name, next := range l.next {
		if next.After(now) {
			continue
		}
		l.due(name, l.missed(name, next, now))
		l.plan(name, now)
	}
}

// due notes one firing of a job, and counts those that come to nothing.
func (l *Loop) due(name string, missed int) {
	why := "slept through"
	if l.running[name] || l.waiting[name] {
		missed, why = missed+1, "its previous run is not finished"
	} else {
		l.waiting[name] = true
	}
	if missed > 0 {
		l.skipped += missed
		l.Log.Warn("runs skipped", "job", name, "why", why, "skipped", missed, "skipped_total", l.skipped)
	}
}

// missed counts the firings after next and up to now.
func (l *Loop) missed(name string, next, now time.Time) int {
	for n := range maxCounted {
		if next = l.jobs[name].Next(next); next.IsZero() || next.After(now) {
			return n
		}
	}
	return maxCounted
}

// start begins a run of everything that waits.
func (l *Loop) start(ctx context.Context, ended chan<- struct{}) {
	names := slices.Sorted(maps.Keys(l.waiting))
	l.running, l.waiting = l.waiting, l.running
	began := l.now()
	l.Log.Info("run started", "jobs", names)
	go func() {
		defer func() {
			if bug := recover(); bug != nil {
				l.Log.Error("run ended by a bug", "jobs", names, "panic", fmt.Sprint(bug), "stack", string(debug.Stack()))
			}
			l.Log.Info("run finished", "jobs", names, "took", l.now().Sub(began))
			ended <- struct{}{}
		}()
		l.Run(ctx, names)
	}()
}

func (l *Loop) drain(ended <-chan struct{}) {
	if len(l.running) == 0 {
		return
	}
	l.Log.Info("stopping; waiting for the run in progress", "jobs", slices.Sorted(maps.Keys(l.running)))
	<-ended
}

// untilNext is how long to sleep before the next look, and remembers it.
func (l *Loop) untilNext() time.Duration {
	l.wait = lookInterval
	for _, next := range l.next {
		l.wait = min(l.wait, max(0, next.Sub(l.looked)))
	}
	return l.wait
}
