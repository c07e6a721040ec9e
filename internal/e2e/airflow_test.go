// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package e2e

import (
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
)

// dag is the Dag of the example that learns of the sandbox from a Variable.
const dag = "attached_agent"

// scheduling is an Airflow with its server and scheduler, which runs the
// example's Dags with the Variable that the guide sets.
type scheduling struct {
	*world
	*airflowtest.Airflow
}

func (w *world) schedule() scheduling {
	w.t.Helper()
	settings := append(w.env,
		"AIRFLOW_VAR_ANALYSIS="+w.must("terraform", "output", "-json", "analysis"),
		"AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION=False")
	a := airflowtest.New(w.t, w.dir+"/dags", settings...)
	a.Serve(w.t)
	a.Parse(w.t)
	a.Schedule(w.t)
	return scheduling{w, a}
}

// trigger starts a run and returns its id. An empty prompt is the example's own.
func (a scheduling) trigger(prompt string) (run string) {
	a.t.Helper()
	request := map[string]any{"logical_date": nil}
	if prompt != "" {
		request["conf"] = map[string]string{"prompt": prompt}
	}
	var made struct {
		ID string `json:"dag_run_id"`
	}
	a.call(http.MethodPost, "dagRuns", request, &made)
	return made.ID
}

// task is what Airflow tells of one task instance.
type task struct {
	State string `json:"state"`
	PID   int    `json:"pid"`
}

func (a scheduling) task(run, id string) (told task) {
	a.t.Helper()
	a.call(http.MethodGet, "dagRuns/"+url.PathEscape(run)+"/taskInstances/"+id, nil, &told)
	return told
}

// becomes waits until a task has a state.
func (a scheduling) becomes(run, id, state string) {
	a.t.Helper()
	a.until(id+" of "+run+" is "+state, func() bool { return a.task(run, id).State == state })
}

// returned is what a task has returned.
func (a scheduling) returned(run, id string) string {
	a.t.Helper()
	var told struct {
		Value string `json:"value"`
	}
	a.call(http.MethodGet, "dagRuns/"+url.PathEscape(run)+"/taskInstances/"+id+"/xcomEntries/return_value", nil, &told)
	return told.Value
}

// call asks the server about the Dag.
func (a scheduling) call(method, path string, body, reply any) {
	a.t.Helper()
	said := a.Call(a.t, method, "/api/v2/dags/"+dag+"/"+path, body)
	if err := json.Unmarshal(said, reply); err != nil {
		a.t.Fatalf("%s: %v\n%s", path, err, said)
	}
}
