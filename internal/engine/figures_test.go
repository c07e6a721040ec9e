// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build figures

package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/figure"
)

// TestFigureEngineExecOverhead compares the engine with bubblewrap alone. The
// two take turns, and of each the fastest tenth counts: what is slower shows
// what else the machine had to do.
func TestFigureEngineExecOverhead(t *testing.T) {
	const runs, limit = 200, 1.3
	spec := trueSpec(t)
	var engine, bare []time.Duration
	for range runs {
		engine = append(engine, timed(func() { engineExec(t, spec) }))
		bare = append(bare, timed(func() { bareExec(t, spec) }))
	}
	t.Logf("engine %s, bubblewrap %s", fastest(engine), fastest(bare))
	figure.Hold(t, "engine_exec_overhead", float64(fastest(engine))/float64(fastest(bare)), limit)
}

func timed(do func()) time.Duration {
	begun := time.Now()
	do()
	return time.Since(begun)
}

// fastest is the slowest time of the fastest tenth.
func fastest(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/10]
}
