// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"fmt"
	"maps"
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
//
// That Terraform's sandboxes are spared by rules about Airflow has no such rule
// yet; the rail itself is tested in package verdict.
func TestEveryRailIsMissedWhenItIsRemoved(t *testing.T) {
	onMarks := func(change func(verdict.Key, *verdict.Mark)) func(*verdict.Facts, *verdict.Policy) {
		return func(f *verdict.Facts, _ *verdict.Policy) {
			f.Marks = maps.Clone(f.Marks)
			for key, mark := range f.Marks {
				change(key, &mark)
				f.Marks[key] = mark
			}
		}
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
				p.Graces = map[verdict.Reason]time.Duration{"expired": 0, "failed_teardown": 0, "orphaned_workspace": 0}
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
			t.Errorf("nothing misses it: 300 worlds without %s, and invariant %d holds; %d other harms, such as %.500v", rail.rail, rail.harm, len(other), other)
		})
	}
}
