// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// TestEveryRailIsMissedWhenItIsRemoved takes away, one at a time, the fact that
// a rail stands on, and expects the oracle to see the harm that the rail
// prevents. A rail that nothing misses does not exist.
func TestEveryRailIsMissedWhenItIsRemoved(t *testing.T) {
	onMarks := func(change func(verdict.Key, *verdict.Mark)) func(*verdict.Facts, *verdict.Policy) {
		return func(f *verdict.Facts, _ *verdict.Policy) { f.Marks = changed(f.Marks, change) }
	}
	onBoxes := func(change func(*sandbox.Sandbox)) func(*verdict.Facts, *verdict.Policy) {
		return func(f *verdict.Facts, _ *verdict.Policy) {
			for i, s := range f.Subjects {
				if s.Sandbox != nil {
					changed := *s.Sandbox
					changed.Tags = changed.Tags.Clone()
					change(&changed)
					f.Subjects[i].Sandbox = &changed
				}
			}
		}
	}
	onTasks := func(change func(*airflow.TaskAnswer)) func(*verdict.Facts, *verdict.Policy) {
		return func(f *verdict.Facts, _ *verdict.Policy) {
			f.Airflow.Tasks = changed(f.Airflow.Tasks, func(_ airflow.TaskInstance, a *airflow.TaskAnswer) { change(a) })
		}
	}
	onRuns := func(change func(*airflow.RunAnswer)) func(*verdict.Facts, *verdict.Policy) {
		return func(f *verdict.Facts, _ *verdict.Policy) {
			f.Airflow.Runs = changed(f.Airflow.Runs, func(_ airflow.DagRun, a *airflow.RunAnswer) { change(a) })
		}
	}
	onLeft := func(change func(*sandbox.Leftover)) func(*verdict.Facts, *verdict.Policy) {
		return func(f *verdict.Facts, _ *verdict.Policy) {
			for i, s := range f.Subjects {
				if s.Leftover != nil {
					changed := *s.Leftover
					change(&changed)
					f.Subjects[i].Leftover = &changed
				}
			}
		}
	}
	rails := []struct {
		rail   string
		harm   int // the invariant that is broken
		remove func(*rules)
	}{
		{"the fresh read", 1, func(c *rules) { c.staleGet = true }},
		{"compare-and-swap", 14, func(c *rules) { c.noVersions, c.rivals = true, 0.5 }},
		{"the claim", 14, func(c *rules) { c.noClaims, c.rivals = true, 0.5 }},
		{"the saved intent", 2, func(c *rules) { c.noIntents = true }},
		{"only a complete look clears a mark", 6, func(c *rules) {
			c.blind = func(f *verdict.Facts, _ *verdict.Policy) { f.Complete = true }
		}},
		{"only a read by id proves absence", 11, func(c *rules) { c.absentGet, c.lags = true, 0.5 }},
		{"only the place that was asked proves absence", 11, func(c *rules) { c.nameless, c.strangers = true, 0.3 }},
		{"another account is not swept", 19, func(c *rules) { c.nameless, c.strangers = true, 0.3 }},
		{"two looks", 7, func(c *rules) {
			c.storeLosses = 0.3
			c.blind = func(f *verdict.Facts, _ *verdict.Policy) {
				f.Marks = maps.Clone(f.Marks)
				if f.Marks == nil {
					f.Marks = make(verdict.Marks)
				}
				for _, s := range f.Subjects {
					if _, marked := f.Marks[s.Key()]; !marked && s.Leftover != nil {
						f.Marks[s.Key()] = verdict.Mark{Reason: "orphaned_workspace", First: f.Now.Add(-24 * time.Hour), Looks: 1}
					}
				}
			}
		}},
		{"protection by tag", 5, func(c *rules) {
			c.blind = onBoxes(func(b *sandbox.Sandbox) { delete(b.Tags, sandbox.TagProtect) })
		}},
		{"protection by owner, tag value and handle", 5, func(c *rules) {
			c.blind = func(_ *verdict.Facts, p *verdict.Policy) { p.Protect = verdict.Protection{} }
		}},
		{"the marker that makes it ours", 5, func(c *rules) {
			c.blind = onBoxes(func(b *sandbox.Sandbox) { b.Tags[airflow.TagSandbox] = "x" })
		}},
		{"unreadable is not judged", 5, func(c *rules) {
			c.blind = onBoxes(func(b *sandbox.Sandbox) { b.Problem = "" })
		}},
		{"unreadable leftovers are not judged", 1, func(c *rules) {
			c.blind = onLeft(func(l *sandbox.Leftover) { l.Problem = "" })
		}},
		{"the grace", 1, func(c *rules) {
			c.blind = func(_ *verdict.Facts, p *verdict.Policy) {
				p.Graces = map[verdict.Reason]time.Duration{"expired": 0, "failed_teardown": 0, "retired": 0, "orphaned_workspace": 0}
			}
		}},
		{"the age of a leftover", 5, func(c *rules) {
			c.blind = onLeft(func(l *sandbox.Leftover) {
				l.CreatedAt, l.ChangedAt = l.CreatedAt.Add(-100*time.Hour), l.CreatedAt.Add(-100*time.Hour)
			})
		}},
		{"the later of two ends", 1, func(c *rules) {
			hide := onBoxes(func(b *sandbox.Sandbox) { b.ServerEnds = time.Time{} })
			c.blind = func(f *verdict.Facts, p *verdict.Policy) { hide(f, p); f.ServerEnds = false }
		}},
		{"the recorded end", 1, func(c *rules) {
			c.blind = onBoxes(func(b *sandbox.Sandbox) { delete(b.Tags, airflow.TagExpiresAt) })
		}},
		{"the holder of what was replaced", 18, func(c *rules) {
			c.blind = onBoxes(func(b *sandbox.Sandbox) { delete(b.Tags, airflow.TagHolder) })
		}},
		{"what was replaced is free for the grace", 18, func(c *rules) {
			c.blind = onMarks(func(_ verdict.Key, m *verdict.Mark) {
				m.First, m.Looks = m.First.Add(-24*time.Hour), 1
			})
		}},
		{"the cap", 8, func(c *rules) { c.options = func(o *Options) { o.DeletesPerRun = 1000 } }},
		{"the share breaker", 17, func(c *rules) {
			c.orphans = 0.95
			c.options = func(o *Options) { o.DeletesPerRun = 1000 }
			c.blind = func(_ *verdict.Facts, p *verdict.Policy) { p.Share = 1 }
		}},
		{"the breaker for an empty list", 6, func(c *rules) {
			c.fraudulent = 0.3
			c.blind = func(f *verdict.Facts, _ *verdict.Policy) { f.LastCount = 0 }
		}},
		{"a clock that can be believed", 1, func(c *rules) {
			c.blind = func(f *verdict.Facts, _ *verdict.Policy) { f.ClockDoubt = "" }
		}},
		{"a look after time itself is in doubt only marks", 7, func(c *rules) {
			c.blind = func(f *verdict.Facts, _ *verdict.Policy) {
				if !f.LastLook.IsZero() {
					f.LastLook = f.Now
				}
			}
		}},
		{"what was alive at a look long ago only is marked", 7, func(c *rules) {
			c.blind = func(f *verdict.Facts, _ *verdict.Policy) {
				if f.Now.Sub(f.LastLook) > simLongGap {
					f.LastLook = f.Now
				}
			}
		}},
		{"back-off", 9, func(c *rules) {
			c.stubborn = 0.4
			c.blind = onMarks(func(_ verdict.Key, m *verdict.Mark) { m.Next = time.Time{} })
		}},
		{"the limit of attempts", 9, func(c *rules) {
			c.stubborn = 0.4
			c.blind = onMarks(func(_ verdict.Key, m *verdict.Mark) { m.Attempts = min(m.Attempts, 3) })
		}},
		{"what is in use is no leftover", 1, func(c *rules) {
			hide := onLeft(func(l *sandbox.Leftover) { l.InUse = false })
			c.blind = func(f *verdict.Facts, p *verdict.Policy) { hide(f, p); f.InUse = nil }
		}},
		{"whose Airflow it is, of a claim", 5, func(c *rules) {
			c.blind = func(f *verdict.Facts, _ *verdict.Policy) {
				f.Airflow.Deployment = verdict.Deployment{Name: "prod", Exclusive: true}
			}
		}},
		{"only an end that Airflow knows ends a claim", 15, func(c *rules) {
			c.blind = onTasks(func(a *airflow.TaskAnswer) { a.State = "failed" })
		}},
		{"only an end that Airflow knows ends a run", 1, func(c *rules) {
			c.blind = onRuns(func(a *airflow.RunAnswer) { a.State = "failed" })
		}},
		{"what Airflow cannot tell is alive", 15, func(c *rules) {
			c.blind = onTasks(func(a *airflow.TaskAnswer) {
				if a.Doubt != "" {
					*a = airflow.TaskAnswer{State: "removed"}
				}
			})
		}},
		{"Airflow is asked again before a claim is released", 15, func(c *rules) { c.staleAsk = true }},
		{"Airflow is asked again after a claim is released", 15, func(c *rules) { c.staleCheck = true }},
		{"a claim is put back", 15, func(c *rules) { c.noRestore = true }},
		{"the next run looks after a release", 15, func(c *rules) {
			c.blind = onMarks(func(_ verdict.Key, m *verdict.Mark) { m.Taken = time.Time{} })
		}},
		{"Airflow's clock", 15, func(c *rules) { c.sameClock = true }},
		{"the grace of a claim", 15, func(c *rules) {
			c.blind = func(_ *verdict.Facts, p *verdict.Policy) {
				p.Graces = map[verdict.Reason]time.Duration{"stale_holder": 0}
			}
		}},
		{"the grace of a run", 1, func(c *rules) {
			c.blind = func(_ *verdict.Facts, p *verdict.Policy) {
				p.Graces = map[verdict.Reason]time.Duration{"finished_owner": 0}
			}
		}},
		{"the end is later than the sandbox", 1, func(c *rules) {
			c.blind = onBoxes(func(b *sandbox.Sandbox) { b.CreatedAt = b.CreatedAt.Add(-1000 * time.Hour) })
		}},
		{"two looks at what Airflow says", 7, func(c *rules) {
			c.storeLosses = 0.3
			c.blind = func(f *verdict.Facts, p *verdict.Policy) {
				f.Marks = maps.Clone(f.Marks)
				if f.Marks == nil {
					f.Marks = make(verdict.Marks)
				}
				for _, s := range f.Subjects {
					if _, marked := f.Marks[s.Key()]; marked || s.Sandbox == nil {
						continue
					}
					if v := verdict.Judge(s, f, *p); v.Reason.NeedsAirflow() {
						f.Marks[s.Key()] = verdict.Mark{Reason: v.Reason, Claim: v.Claim, First: f.Now.Add(-24 * time.Hour), Looks: 1}
					}
				}
			}
		}},
		{"what goes on Airflow's word is taken from Airflow first", 20, func(c *rules) { c.unlocked, c.returns = true, 0.4 }},
		{"Terraform's sandboxes do not go on Airflow's word", 5, func(c *rules) {
			c.blind = onBoxes(func(b *sandbox.Sandbox) { delete(b.Tags, sandbox.TagManagedBy) })
		}},
		{"the share breaker counts claims", 17, func(c *rules) {
			c.orphans, c.abandoned = 0, 0.95
			c.options = func(o *Options) { o.DeletesPerRun = 1000 }
			c.blind = func(_ *verdict.Facts, p *verdict.Policy) { p.Share = 1 }
		}},
		{"what is gone is remembered while lists lag", 11, func(c *rules) {
			c.lags = 0.6
			c.blind = func(f *verdict.Facts, _ *verdict.Policy) {
				f.Marks = maps.Clone(f.Marks)
				maps.DeleteFunc(f.Marks, func(_ verdict.Key, m verdict.Mark) bool { return !m.Gone.IsZero() })
			}
		}},
	}
	for _, rail := range rails {
		t.Run(rail.rail, func(t *testing.T) {
			t.Parallel()
			cfg := usual
			rail.remove(&cfg)
			want := fmt.Sprintf("invariant %d:", rail.harm)
			other := make(map[string]int)
			for seed := uint64(1); seed <= 300; seed++ {
				for _, harm := range simulate(seed, cfg, perWorld).damage {
					if strings.HasPrefix(harm, want) {
						return
					}
					other[harm]++
				}
			}
			t.Errorf("nothing misses it: 300 worlds without %s, and invariant %d holds; %d other harms, such as %.500s", rail.rail, rail.harm, len(other), fmt.Sprint(other))
		})
	}
}

// TestEveryRailOfOneRunIsMissedWhenItIsRemoved does the same with those that
// stand on one run's own time and claim, and on a person's word: each scene is
// played with the rail, and without it.
func TestEveryRailOfOneRunIsMissedWhenItIsRemoved(t *testing.T) {
	rails := []struct {
		rail   string
		scene  func(context.Context, *testing.T, *lab, *Options)
		remove func(*Options)
		held   []string // asked to go with the rail
		harm   []string // and without it
	}{
		{
			"the claim is checked before each destroy",
			func(ctx context.Context, t *testing.T, l *lab, opts *Options) {
				store := opts.Store
				l.onDestroy = func(context.Context, sandbox.Ref) error {
					held(ctx, t, store, Run{ID: "x", Host: "there", Until: noon.Add(time.Hour)})
					return nil
				}
			},
			func(o *Options) { o.Store = &deaf{Store: o.Store} },
			[]string{"first"}, []string{"first", "second"},
		},
		{
			"nothing begins after the run's deadline",
			func(_ context.Context, _ *testing.T, l *lab, opts *Options) {
				l.onDestroy = func(context.Context, sandbox.Ref) error { opts.advance(11 * time.Minute); return nil }
			},
			func(o *Options) { o.RunDeadline = MaxRunDeadline },
			[]string{"first"}, []string{"first", "second"},
		},
		{
			"only what a person was shown goes",
			func(_ context.Context, _ *testing.T, _ *lab, opts *Options) {
				opts.Approved = func(_ string, v verdict.Verdict) bool { return v.Handle == "second" }
			},
			func(o *Options) { o.Approved = nil },
			[]string{"second"}, []string{"first", "second"},
		},
	}
	for _, rail := range rails {
		t.Run(rail.rail, func(t *testing.T) {
			for _, removed := range []bool{false, true} {
				l := newLab(dead("first"), dead("second"))
				opts := enforcing(l)
				rail.scene(t.Context(), t, l, &opts)
				want := rail.held
				if removed {
					rail.remove(&opts)
					want = rail.harm
				}
				if sweep(t, opts); !slices.Equal(l.asked, want) {
					t.Errorf("removed %t: asked %q, want %q", removed, l.asked, want)
				}
			}
		})
	}
}

// changed is a copy of a map with every value changed.
func changed[M ~map[K]V, K comparable, V any](m M, change func(K, *V)) M {
	m = maps.Clone(m)
	for key, value := range m {
		change(key, &value)
		m[key] = value
	}
	return m
}

// deaf is a store that always says the document is still as its run saved it.
type deaf struct {
	Store
	saved Version
}

func (d *deaf) Newest(context.Context) (Version, error) { return d.saved, nil }

func (d *deaf) Save(ctx context.Context, document Document, version Version) (Version, error) {
	saved, err := d.Store.Save(ctx, document, version)
	if err == nil {
		d.saved = saved
	}
	return saved, err
}
