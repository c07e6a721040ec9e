// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build figures

package janitor

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/figure"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// What is promised of a sweep over many sandboxes that tasks hold. The calls to
// Airflow are counted in internal/airflow/api.
const (
	heldSandboxes, heldRuns = 10_000, 500
	heldSeconds             = 2
	heldMebibytes           = 32
)

// holders lists many sandboxes that tasks hold, and is the Airflow which says that
// half of the tasks are over.
type holders struct {
	backend.Backend // nil: the janitor calls nothing else

	held uint64 // bytes, when Airflow is asked
}

func (h *holders) Scope() string                      { return "holders" }
func (h *holders) Capabilities() backend.Capabilities { return backend.Capabilities{} }

func (h *holders) List(context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		for i := range heldSandboxes {
			box := claimed(fmt.Sprintf("box-%06d", i))
			run := airflow.DagRun{DagID: "etl", RunID: fmt.Sprintf("scheduled__2026-11-30T09:%06d+00:00", i%heldRuns)}
			task := airflow.TaskInstance{DagRun: run, TaskID: "load", MapIndex: i}
			box.Tags[airflow.TagOwner], box.Tags[airflow.TagHolder] = run.Owner(), task.Holder()
			box.Tags[airflow.TagNetwork] = `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`
			delete(box.Tags, sandbox.TagManagedBy)
			if !yield(box, nil) {
				return
			}
		}
	}
}

func (h *holders) Ask(_ context.Context, asked airflow.Questions) (airflow.Answers, error) {
	h.held = live()
	answers := airflow.Answers{ClockKnown: true, Runs: make(map[airflow.DagRun]airflow.RunAnswer), Tasks: make(map[airflow.TaskInstance]airflow.TaskAnswer)}
	for _, run := range asked.Runs {
		answers.Runs[run] = airflow.RunAnswer{State: "running"}
	}
	for i, task := range asked.Tasks {
		answers.Tasks[task] = airflow.TaskAnswer{State: []airflow.TaskState{"running", "failed"}[i%2], EndedAt: noon.Add(-time.Hour)}
	}
	return answers, nil
}

func TestFigureVerdictsOnTenThousandHeldSandboxes(t *testing.T) {
	h := new(holders)
	opts := Options{
		Store: NewMemory(), Clock: clock.NewFake(noon), Airflow: map[string]Airflow{"prod": h},
		Connections: []Connection{{Name: "holders", Backend: h, Policy: verdict.Policy{Airflow: verdict.Deployment{Name: "prod", Marker: "prod"}}}},
	}
	before, began := live(), clock.System().Now()
	result, err := Plan(t.Context(), opts)
	took := clock.System().Now().Sub(began)
	if err != nil {
		t.Fatal(err)
	}
	if c := result.Connections[0]; c.Counts.Later != heldSandboxes/2 || c.Counts.Alive != heldSandboxes/2 || c.Airflow.Asked != heldSandboxes+heldRuns {
		t.Errorf("counted %+v, asked %+v", c.Counts, c.Airflow)
	}
	figure.Hold(t, "janitor_held_10000_seconds", took.Seconds(), heldSeconds)
	figure.Hold(t, "janitor_held_10000_mebibytes", (float64(h.held)-float64(before))/(1<<20), heldMebibytes)
}
