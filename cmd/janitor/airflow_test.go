// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// double is the API of an Airflow with one run of one task, as far as it is asked.
// What a real one says is tested with a real one, in internal/airflow/api.
type double struct {
	*httptest.Server

	mu    sync.Mutex
	state string // of the task and its run; "down": nothing works
	ended time.Time
}

// aDouble is the key of a script's own.
var aDouble = new(double)

// newDouble starts one, with the token "right".
func newDouble() *double {
	d := &double{state: "running"}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v2/dags/~/dagRuns/~/taskInstances/list", d.list("task_instances", map[string]any{
		"dag_id": "etl", "dag_run_id": "manual", "task_id": "load", "map_index": -1, "try_number": 1,
	}))
	mux.HandleFunc("POST /api/v2/dags/~/dagRuns/list", d.list("dag_runs", map[string]any{"dag_id": "etl", "dag_run_id": "manual"}))
	mux.HandleFunc("GET /api/v2/dags/etl/dagRuns/manual", func(w http.ResponseWriter, r *http.Request) {
		d.reply(w, r, map[string]any{"dag_id": "etl", "dag_run_id": "manual"}, func(row map[string]any) any { return row })
	})
	d.Server = httptest.NewServer(mux)
	return d
}

func (d *double) list(rows string, row map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		d.reply(w, r, row, func(row map[string]any) any {
			return map[string]any{rows: []any{row}, "total_entries": 1}
		})
	}
}

func (d *double) reply(w http.ResponseWriter, r *http.Request, row map[string]any, whole func(map[string]any) any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer right":
		http.Error(w, `{"detail":"Not authenticated"}`, http.StatusUnauthorized)
		return
	case d.state == "down":
		http.Error(w, "<html>the proxy is well, Airflow is not</html>", http.StatusBadGateway)
		return
	}
	row["state"], row["end_date"] = d.state, nil
	if d.state == "failed" {
		row["end_date"] = d.ended.Format(time.RFC3339)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(whole(row))
}

// airflowIs is "airflow STATE": from now on the task and its run are in that state,
// and have ended 20 minutes ago.
func airflowIs(ts *testscript.TestScript, _ bool, args []string) {
	d := ts.Value(aDouble).(*double)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state, d.ended = args[0], clock.System().Now().Add(-20*time.Minute)
}

// heldBy is "heldby HANDLE HOLDER".
func heldBy(ts *testscript.TestScript, _ bool, args []string) {
	box, err := ts.Value(mess{}).(mess).read(args[0])
	ts.Check(err)
	if holder := box.Tags["airflow_holder"]; holder != args[1] {
		ts.Fatalf("%s is held by %q, want %q", args[0], holder, args[1])
	}
}
