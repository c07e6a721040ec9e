// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build figures

package provider_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/figure"
)

// TestFigurePlanOfAThousandInstances compares a plan over a thousand sandboxes
// with the same plan by a provider whose Read does nothing. The two take turns,
// and of each the fastest run counts: what is slower shows what else the machine
// had to do.
func TestFigurePlanOfAThousandInstances(t *testing.T) {
	const instances, runs, limit = 1000, 3, 1.3
	w := newWorld(t)
	ws := w.workspace(strings.Replace(w.instance(`renew_before = "10m"`, `tags = { team = "research" }`),
		"connection_uri", fmt.Sprintf("count          = %d\n  connection_uri", instances), 1))
	ws.apply()

	ws.traced()
	ws.quiet()
	listings := 0
	for _, verb := range ws.traced() {
		if verb == "list" {
			listings++
		}
	}
	figure.Hold(t, "plan_1000_listings", float64(listings), 1)

	untraced := traceVariable + "="
	var reading, idle []time.Duration
	for range runs {
		reading = append(reading, ws.timedPlan(untraced))
		idle = append(idle, ws.timedPlan(untraced, idleVariable+"=1"))
	}
	t.Logf("reading %s, idle %s", slices.Min(reading), slices.Min(idle))
	figure.Hold(t, "plan_1000_instances", float64(slices.Min(reading))/float64(slices.Min(idle)), limit)
}

func (ws *workspace) timedPlan(env ...string) time.Duration {
	ws.t.Helper()
	begun := clock.System().Now()
	if out, code := ws.terraform(env, "plan", "-detailed-exitcode"); code != 0 {
		ws.t.Fatalf("exit %d\n%s", code, out)
	}
	return clock.System().Now().Sub(begun)
}
