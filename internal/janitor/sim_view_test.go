// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

var errKilled = errors.New("killed")

// view is the world as one run sees it. Every call stops at its boundary, where
// another run may go on, time passes, things happen, and replies get lost.
type view struct {
	*world

	name   string
	stop   context.CancelFunc
	resume chan struct{}
	parked chan struct{}

	over        bool
	killed      bool // nothing has an effect any more
	killedAfter bool // killed once the call in progress has had its effect
	result      Result
	err         error
	jumps       int

	witnesses
}

// start begins a run. It stands still until it is stepped.
func (w *world) start() *view {
	w.runs++
	v := &view{
		world: w, name: fmt.Sprintf("run-%d", w.runs), jumps: w.jumps,
		resume: make(chan struct{}), parked: make(chan struct{}),
		witnesses: newWitnesses(),
	}
	ctx, stop := context.WithCancel(context.Background())
	v.stop = stop
	opts := v.options()
	w.views = append(w.views, v)
	go func() {
		<-v.resume
		v.result, v.err = Sweep(ctx, opts)
		v.over = true
		v.parked <- struct{}{}
	}()
	return v
}

func (v *view) options() Options {
	opts := Options{
		Store: (*simStore)(v), Clock: (*simClock)(v.world), Process: v.name, Parallel: 1, PerConnection: 1,
		DeletesPerRun: simCap, StopGrace: time.Millisecond, Settle: time.Nanosecond, blind: v.cfg.blind,
		Gone: func(process string) bool { return process == "" },
	}
	for _, s := range v.places {
		opts.Connections = append(opts.Connections, Connection{Name: s.name, Backend: v.backend(s), Policy: simPolicy(s)})
	}
	opts.Airflow = map[string]Airflow{"prod": &simAirflow{v: v}}
	if v.cfg.options != nil {
		v.cfg.options(&opts)
	}
	return opts
}

func simPolicy(s *site) verdict.Policy {
	return verdict.Policy{
		Connection: s.name,
		Mode:       verdict.Enforce,
		Modes: map[verdict.Reason]verdict.Mode{
			"orphaned_workspace": verdict.Enforce, "stale_holder": verdict.Enforce, "finished_owner": verdict.Enforce,
		},
		Graces: map[verdict.Reason]time.Duration{
			"expired": simExpired, "failed_teardown": simFailed, "retired": simRetired, "orphaned_workspace": simOrphan,
			"stale_holder": simStale, "finished_owner": simFinished,
		},
		Airflow: verdict.Deployment{Name: "prod", Marker: "prod", Exclusive: !s.remote},
		Share:   simShare,
		Protect: verdict.Protection{
			Owners: []string{"keep/*"}, Tags: map[string]string{"team": "research"}, Handles: []string{"remote#box-03"},
		},
	}
}

// step lets the run go on to its next call, or to its end.
func (v *view) step() {
	v.resume <- struct{}{}
	<-v.parked
}

// call is one call to the world.
func (v *view) call(ctx context.Context, longest time.Duration, effect func() error) error {
	if v.killed {
		return errKilled
	}
	v.parked <- struct{}{}
	<-v.resume
	if v.killed {
		return errKilled
	}
	v.steps++
	if v.calm {
		v.pass(time.Second)
		err := effect()
		if v.killedAfter {
			v.kill()
			return errKilled
		}
		return err
	}
	v.pass(v.upTo(3 * time.Second))
	if v.chance(0.02) {
		v.pass(v.upTo(longest))
	}
	if v.chance(0.15) {
		v.event()
	}
	if v.focus != nil && v.chance(v.cfg.returns) { // its task comes back, or goes
		v.attachment(v.focus)
	}
	if v.chance(v.cfg.clockFaults/20) && len(v.views) == 1 {
		v.clockEvent(false)
		v.tilted = true
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	switch fault := v.Float64(); {
	case fault < 0.02:
		return fmt.Errorf("%w: the request was lost", backend.ErrUnavailable)
	case fault < 0.04:
		_ = effect()
		return fmt.Errorf("%w: the reply was lost", backend.ErrUnknownOutcome)
	case fault < 0.045:
		v.kill()
		return errKilled
	case fault < 0.05:
		_ = effect()
		v.kill()
		return errKilled
	case fault < 0.055:
		v.stop()
	}
	return effect()
}

func (v *view) kill() {
	v.killed = true
	v.note("%s is killed", v.name)
}

// simClock is the clock by which the janitors live.
type simClock world

func (c *simClock) Now() time.Time { return c.now.Add(c.skew) }
