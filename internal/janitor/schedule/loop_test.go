// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package schedule_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/schedule"
)

// jumpingClock is the bubble's clock, set off by what a person or a suspended
// machine did to it.
type jumpingClock struct {
	mu     sync.Mutex
	offset time.Duration
}

func (c *jumpingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return clock.System().Now().Add(c.offset)
}

func (c *jumpingClock) jump(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset += by
}

// follower is a loop in a bubble whose runs are written down. Bubbles begin at
// midnight UTC, 2000-01-01.
type follower struct {
	clock  jumpingClock
	log    bytes.Buffer
	mu     sync.Mutex
	runs   []string // "HH:MM names"
	reload chan schedule.Jobs
	stop   context.CancelFunc
	ended  chan struct{}
}

func follow(t *testing.T, lines map[string]string, run func(*follower, context.Context, []string)) *follower {
	t.Helper()
	f := &follower{reload: make(chan schedule.Jobs), ended: make(chan struct{})}
	loop := &schedule.Loop{
		Clock: &f.clock,
		Log:   slog.New(slog.NewTextHandler(&f.log, nil)),
		Run: func(ctx context.Context, names []string) {
			f.mu.Lock()
			f.runs = append(f.runs, f.clock.Now().Format("15:04 ")+strings.Join(names, "+"))
			f.mu.Unlock()
			if run != nil {
				run(f, ctx, names)
			}
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	f.stop = stop
	go func() {
		loop.Follow(ctx, jobs(t, lines), f.reload)
		close(f.ended)
	}()
	return f
}

func jobs(t *testing.T, lines map[string]string) schedule.Jobs {
	t.Helper()
	all := schedule.Jobs{}
	for name, line := range lines {
		s, err := schedule.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = s
	}
	return all
}

// finish stops the loop and compares what ran.
func (f *follower) finish(t *testing.T, want ...string) {
	t.Helper()
	f.stop()
	<-f.ended
	if !slices.Equal(f.runs, want) {
		t.Errorf("ran %q, want %q\n%s", f.runs, want, &f.log)
	}
}

func (f *follower) logged(t *testing.T, want string) {
	t.Helper()
	if !strings.Contains(f.log.String(), want) {
		t.Errorf("the log does not say %q:\n%s", want, &f.log)
	}
}

func sleep(d time.Duration) func(*follower, context.Context, []string) {
	return func(*follower, context.Context, []string) { time.Sleep(d) }
}

func TestJobsRunOnTheirOwnSchedulesAndTogetherWhenDueTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"local": "*/10 * * * *", "lab": "*/30 * * * *"}, nil)
		time.Sleep(35 * time.Minute)
		f.finish(t, "00:10 local", "00:20 local", "00:30 lab+local")
	})
}

func TestRunThatOutlivesItsIntervalSkipsAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"local": "*/10 * * * *"}, sleep(25*time.Minute))
		time.Sleep(61 * time.Minute)
		f.finish(t, "00:10 local", "00:40 local")
		f.logged(t, "previous run is not finished")
		f.logged(t, "skipped_total=4")
	})
}

func TestJobDueWhileOthersRunIsRunRightAfterThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"local": "10 * * * *", "lab": "20 * * * *"}, sleep(15*time.Minute))
		time.Sleep(59 * time.Minute)
		f.finish(t, "00:10 local", "00:25 lab")
	})
}

func TestTwoRunsNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside := 0
		f := follow(t, map[string]string{"a": "*/2 * * * *", "b": "*/3 * * * *", "c": "*/5 * * * *"},
			func(_ *follower, _ context.Context, names []string) {
				inside++
				if inside != 1 {
					t.Errorf("%d runs at once", inside)
				}
				time.Sleep(time.Duration(len(names)) * 100 * time.Second)
				inside--
			})
		time.Sleep(24 * time.Hour)
		f.stop()
		<-f.ended
	})
}

func TestPanicEndsOneRunAndNotTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"local": "*/10 * * * *"}, func(*follower, context.Context, []string) { panic("out of cheese") })
		time.Sleep(21 * time.Minute)
		f.finish(t, "00:10 local", "00:20 local")
		f.logged(t, "out of cheese")
		f.logged(t, "loop_test.go") // where
	})
}

func TestStopWaitsForTheRunInProgressAndStartsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		drained := false
		f := follow(t, map[string]string{"a": "10 * * * *", "b": "11 * * * *"}, func(_ *follower, ctx context.Context, _ []string) {
			<-ctx.Done()
			time.Sleep(20 * time.Second) // its last call comes back
			drained = true
		})
		time.Sleep(12 * time.Minute) // b waits for a
		f.finish(t, "00:10 a")
		if !drained {
			t.Error("did not wait for the run")
		}
		f.logged(t, "waiting for the run in progress")
	})
}

func TestSleepOfTheMachineRunsOnceAndCountsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"local": "*/10 * * * *"}, nil)
		time.Sleep(15*time.Minute + 30*time.Second)
		// Timers stand still while a machine sleeps; only the wall clock goes on.
		f.clock.jump(3 * time.Hour)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		f.mu.Lock()
		if len(f.runs) != 2 {
			t.Errorf("within two minutes of waking, ran %q, want a second run", f.runs)
		}
		f.mu.Unlock()
		time.Sleep(5 * time.Minute)
		f.finish(t, "00:10 local", "03:16 local", "03:20 local")
		f.logged(t, "machine slept")
		f.logged(t, "skipped=17")
	})
}

func TestClockThatGoesBackStartsSchedulesAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"local": "0 * * * *"}, nil)
		time.Sleep(61*time.Minute + 30*time.Second)
		f.clock.jump(-24 * time.Hour)
		time.Sleep(60 * time.Minute)
		f.finish(t, "01:00 local", "02:00 local") // not silent until the clock has caught up
		f.logged(t, "the clock went back")
	})
}

func TestClockNudgedBackDoesNotRunTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"local": "*/10 * * * *"}, func(f *follower, _ context.Context, _ []string) {
			f.clock.jump(-500 * time.Millisecond)
		})
		time.Sleep(21 * time.Minute)
		f.finish(t, "00:10 local", "00:20 local")
	})
}

func TestReloadReplacesJobsAndLeavesUnchangedOnesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"kept": "@every 10m", "moved": "@every 10m", "gone": "5 * * * *"}, nil)
		time.Sleep(4 * time.Minute)
		f.reload <- jobs(t, map[string]string{"kept": "@every 10m", "moved": "@every 3m", "new": "8 * * * *"})
		time.Sleep(7 * time.Minute)
		f.finish(t, "00:07 moved", "00:08 new", "00:10 kept+moved")
	})
}

func TestReloadDuringARunForgetsWhatWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"a": "10 * * * *", "b": "11 * * * *"}, sleep(5*time.Minute))
		time.Sleep(12 * time.Minute)
		f.reload <- jobs(t, map[string]string{"a": "10 * * * *"})
		time.Sleep(20 * time.Minute)
		f.finish(t, "00:10 a")
	})
}

func TestRunInProgressIsVisibleInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := follow(t, map[string]string{"a": "10 * * * *"}, sleep(90*time.Second))
		time.Sleep(12 * time.Minute)
		f.finish(t, "00:10 a")
		f.logged(t, fmt.Sprintf("msg=%q jobs=[a]", "run started"))
		f.logged(t, fmt.Sprintf("msg=%q jobs=[a] took=1m30s", "run finished"))
	})
}
