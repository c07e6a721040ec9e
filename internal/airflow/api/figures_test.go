// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build figures && unix

package api

import (
	"strconv"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/figure"
)

const (
	figureRuns  = 500
	figureHeld  = 10_000
	askSeconds  = 60 // a real Airflow on SQLite, with one process, on a busy machine
	figureTasks = figureHeld / figureRuns
)

// Ten thousand sandboxes are held by as many task instances of 500 runs, and each
// has one of these runs for its owner.
func TestFigureAskAboutTenThousandHeldSandboxes(t *testing.T) {
	a := airflowtest.New(t, "testdata/dags")
	a.Parse(t)
	_, _ = a.DagsTest(t, "ended") // it fails, and there is a run to copy
	a.Python(t, "testdata/rows.py", "many", strconv.Itoa(figureRuns), strconv.Itoa(figureTasks))
	a.Serve(t)
	caller := &backend.Caller{}
	client, err := New(Options{URL: a.URL, Username: airflowtest.Viewer, Password: airflowtest.Viewer, Caller: caller, Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	var q airflow.Questions
	for n := range figureRuns {
		run := airflow.DagRun{DagID: "ended", RunID: "crowd-" + strconv.Itoa(n)}
		q.Runs = append(q.Runs, run)
		for i := range figureTasks {
			q.Tasks = append(q.Tasks, airflow.TaskInstance{DagRun: run, TaskID: "success", MapIndex: i})
		}
	}
	began := clock.System().Now()
	answers, err := client.Ask(t.Context(), q)
	took := clock.System().Now().Sub(began)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range q.Runs {
		if got := answers.Runs[run]; got.State != "failed" {
			t.Fatalf("%s: %+v", run.Owner(), got)
		}
	}
	for _, task := range q.Tasks {
		if got := answers.Tasks[task]; got.State != "success" {
			t.Fatalf("%s: %+v", task.Holder(), got)
		}
	}
	calls := 0
	for _, n := range caller.Counts() {
		calls += n
	}
	const pages = figureHeld / pageSize
	figure.Hold(t, "airflow_ask_10000_held_calls", float64(calls), figureRuns/50+pages+10)
	figure.Hold(t, "airflow_ask_10000_held_seconds", took.Seconds(), askSeconds)
}
