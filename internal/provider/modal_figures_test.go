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
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/figure"
)

// TestFigureAThousandInstancesOnModal refreshes and destroys a thousand
// sandboxes of an emulator of its own, on which a terminated one polls as running
// for as long as it does in production.
func TestFigureAThousandInstancesOnModal(t *testing.T) {
	const instances, page, runs, pollLag = 1000, 100, 3, 35 * time.Second
	server, err := emulator.Start(emulator.Options{PageSize: page, PollLag: pollLag})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	w := newModalPlace(t, server.Token())
	ws := w.workspace(strings.Replace(w.instance(`owner = "terraform:a"`, `renew_before = "10m"`),
		"connection_uri", fmt.Sprintf("count          = %d\n  connection_uri", instances), 1))
	ws.env = append(ws.env, "MODAL_SERVER_URL="+server.URL())
	ws.apply()

	ws.traced()
	ws.quiet()
	pages := instances/page + 1 // the last one is empty, which is how Modal's clients know the end
	figure.Hold(t, "modal_refresh_1000_calls", float64(len(ws.traced())), float64(pages+5))

	untraced := traceVariable + "="
	var reading, idle []time.Duration
	for range runs {
		reading = append(reading, ws.timedPlan(untraced))
		idle = append(idle, ws.timedPlan(untraced, idleVariable+"=1"))
	}
	t.Logf("reading %s, idle %s", slices.Min(reading), slices.Min(idle))
	figure.Hold(t, "modal_refresh_1000_instances", float64(slices.Min(reading))/float64(slices.Min(idle)), 1.3)

	ws.traced()
	begun := clock.System().Now()
	ws.must("destroy", "-auto-approve", "-refresh=false")
	took := clock.System().Now().Sub(begun)
	// Eight a sandbox, with those that take Airflow's lock first, and what opens the place.
	figure.Hold(t, "modal_destroy_1000_calls", float64(len(ws.traced())), 8*instances+5)
	waiting := instances / 10 * pollLag // Terraform destroys ten at a time
	t.Logf("destroyed in %s", took)
	figure.Hold(t, "modal_destroy_1000_of_waiting_for_the_poll", took.Seconds()/waiting.Seconds(), 0.1)
}
