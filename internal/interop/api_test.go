// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/api"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// deploymentMarker is stamped on what Dags of the deployment use.
const deploymentMarker = "lab"

// A colon and a plus are in the id of every run; in a query a plus is a space.
func runIsFoundWhateverItsIDHolds(t *testing.T) {
	client, err := api.New(api.Options{URL: lab.URL, Username: airflowtest.Viewer, Password: airflowtest.Viewer, Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	lab.outcomes(t, "attach", "original") // it has ended
	spaced := airflow.DagRun{DagID: "attach", RunID: "manual__2026-10-05T00:00:00 00:00"}
	runs := map[airflow.DagRun]airflow.RunState{run("attach"): "failed", spaced: ""}
	tasks := map[airflow.TaskInstance]airflow.TaskState{
		{DagRun: run("attach"), TaskID: "of_the_run", MapIndex: -1}:      "success",
		{DagRun: run("attach"), TaskID: "templated_owner", MapIndex: -1}: "failed",
		{DagRun: run("attach"), TaskID: "of_an_index", MapIndex: 1}:      "success",
		{DagRun: run("attach"), TaskID: "of_an_index", MapIndex: 2}:      "",
		{DagRun: run("attach"), TaskID: "of_an_index", MapIndex: -1}:     "",
		{DagRun: spaced, TaskID: "of_the_run", MapIndex: -1}:             "",
	}
	var questions airflow.Questions
	for run := range runs {
		questions.Runs = append(questions.Runs, run)
	}
	for task := range tasks {
		questions.Tasks = append(questions.Tasks, task)
	}
	answers, err := client.Ask(t.Context(), questions)
	if err != nil {
		t.Fatal(err)
	}
	for run, want := range runs {
		if got := answers.Runs[run]; got.State != want || (got.Doubt == "") != (want != "") {
			t.Errorf("%+v: %+v, want %q", run, got, want)
		}
	}
	for task, want := range tasks {
		if got := answers.Tasks[task]; got.State != want || (got.Doubt == "") != (want != "") {
			t.Errorf("%+v: %+v, want %q", task, got, want)
		}
	}
}
