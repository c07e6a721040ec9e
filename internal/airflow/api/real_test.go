// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package api

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

const runID = "manual__2026-10-05T00:00:00+00:00"

var (
	endedRun = airflow.DagRun{DagID: "ended", RunID: runID}
	aliveRun = airflow.DagRun{DagID: "alive", RunID: runID}
)

// deployment is a real Airflow whose runs have come to where they stay, and a
// client that may read it.
type deployment struct {
	*airflowtest.Airflow
	caller *backend.Caller
	client *Client
}

// deploy has a scheduler bring a run of both Dags to its end, or to where it does
// not end by itself, and stops the scheduler.
func deploy(t *testing.T) *deployment {
	t.Helper()
	if testing.Short() {
		t.Skip("in short: making a Python environment needs a package index")
	}
	a := airflowtest.New(t, "testdata/dags",
		"AIRFLOW__CORE__MULTI_TEAM=True", // or a viewer reads every Dag
	)
	parse := a.Command(t.Context(), "dags", "reserialize")
	if err := parse.Start(); err != nil { // while the server starts
		t.Fatal(err)
	}
	a.Serve(t)
	if err := parse.Wait(); err != nil {
		t.Fatal(err)
	}
	d := &deployment{Airflow: a, caller: &backend.Caller{}}
	client, err := New(Options{URL: a.URL, Username: airflowtest.Viewer, Password: airflowtest.Viewer, Caller: d.caller, Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	d.client = client
	t.Run("a scheduler runs the Dags", func(t *testing.T) {
		a.Schedule(t)
		for _, run := range []airflow.DagRun{endedRun, aliveRun} {
			a.Call(t, http.MethodPatch, "/api/v2/dags/"+run.DagID, map[string]any{"is_paused": false})
			a.Call(t, http.MethodPost, "/api/v2/dags/"+run.DagID+"/dagRuns", map[string]any{"logical_date": nil, "dag_run_id": run.RunID})
		}
		d.waitFor(t, aliveRun, "running", "up_for_retry", "deferred", "awaiting_input")
		a.Call(t, http.MethodGet, runPath(endedRun)+"/wait?interval=0.2", nil) // answered when the run has ended
	})
	return d
}

// waitFor waits until the task instances of a run have these states. Airflow
// tells of no change: it is asked.
func (d *deployment) waitFor(t *testing.T, run airflow.DagRun, states ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	slices.Sort(states)
	for {
		var reply page
		if err := json.Unmarshal(d.Call(t, http.MethodGet, runPath(run)+"/taskInstances", nil), &reply); err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, r := range reply.Tasks {
			words = append(words, r.word())
		}
		if slices.Sort(words); slices.Equal(words, states) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the tasks are %q and not %q", words, states)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// rows writes into the database.
func (d *deployment) rows(t *testing.T, args ...string) {
	t.Helper()
	d.Python(t, "testdata/rows.py", args...)
}

// copied makes a run like the one of its Dag that has ended, and looks that its
// tasks are shown.
func (d *deployment) copied(t *testing.T, dagID, runID string) airflow.DagRun {
	t.Helper()
	run := airflow.DagRun{DagID: dagID, RunID: runID}
	d.rows(t, "copy", dagID, runID)
	if got := d.askTask(t, task(run, "success")); got.State != "success" {
		t.Errorf("a task of the run %q: %+v", runID, got)
	}
	return run
}

// askTask asks about one task.
func (d *deployment) askTask(t *testing.T, task airflow.TaskInstance) airflow.TaskAnswer {
	t.Helper()
	answers, err := d.client.Ask(t.Context(), airflow.Questions{Tasks: []airflow.TaskInstance{task}})
	if err != nil {
		t.Fatal(err)
	}
	return answers.Tasks[task]
}

// askRun asks about one run.
func (d *deployment) askRun(t *testing.T, run airflow.DagRun) airflow.RunAnswer {
	t.Helper()
	answers, err := d.client.Ask(t.Context(), airflow.Questions{Runs: []airflow.DagRun{run}})
	if err != nil {
		t.Fatal(err)
	}
	return answers.Runs[run]
}

func task(run airflow.DagRun, id string, index ...int) airflow.TaskInstance {
	return airflow.TaskInstance{DagRun: run, TaskID: id, MapIndex: append(index, -1)[0]}
}

func TestARealAirflow(t *testing.T) {
	d := deploy(t)
	if t.Failed() {
		t.FailNow()
	}
	for _, promise := range []struct {
		name string
		keep func(*testing.T, *deployment)
	}{
		{"every state is told as Airflow has it", everyState},
		{"a row is matched by Dag, run, task and index together", matched},
		{"what has no row is a doubt that says what to think of", noRow},
		{"a purged run is a doubt, and no end", purged},
		{"a Dag that the account may not read is a doubt", hidden},
		{"a cleared task and its run are alive again", cleared},
		{"ids of every kind reach their rows", ids},
		{"many pages are read to the end", manyPages},
		{"many runs take few calls", manyRuns},
		{"a refused token is replaced once", refusedToken},
		{"asked about nothing, it takes the account or refuses it in one call", askedNothing},
		{"a wrong account is told without its secrets", wrongAccount},
		{"a URL that is not the base is told", wrongURL},
		{"a path may stand before the API", prefix},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.keep(t, d) })
	}
}

func everyState(t *testing.T, d *deployment) {
	d.rows(t, "copy", "ended", "shrunk")
	d.rows(t, "set", "shrunk", "success", "removed")
	states := map[airflow.TaskInstance]airflow.TaskState{
		task(airflow.DagRun{DagID: "ended", RunID: "shrunk"}, "success"): "removed",
		task(endedRun, "retried"):   "success",
		task(endedRun, "mapped", 0): "success",
		task(endedRun, "mapped", 1): "success",
	}
	for _, word := range []airflow.TaskState{"success", "failed", "upstream_failed", "skipped"} {
		states[task(endedRun, string(word))] = word
	}
	for _, word := range []airflow.TaskState{"running", "up_for_retry", "deferred", "awaiting_input"} {
		states[task(aliveRun, string(word))] = word
	}
	answers, err := d.client.Ask(t.Context(), airflow.Questions{
		Runs: []airflow.DagRun{endedRun, aliveRun}, Tasks: slices.Collect(maps.Keys(states)),
	})
	if err != nil {
		t.Fatal(err)
	}
	now := clock.System().Now()
	for asked, want := range states {
		got := answers.Tasks[asked]
		if got.State != want || got.Doubt != "" {
			t.Errorf("%s: %+v, want %s", asked.Holder(), got, want)
		}
		if ended := now.Sub(got.EndedAt); want.Terminal() != (ended >= 0 && ended < time.Hour) || want.Terminal() == got.EndedAt.IsZero() {
			t.Errorf("%s: ended at %s", asked.Holder(), got.EndedAt)
		}
	}
	if try := answers.Tasks[task(endedRun, "retried")].Try; try != 2 {
		t.Errorf("the second try has the number %d", try)
	}
	if got := answers.Runs[endedRun]; got.State != "failed" || got.EndedAt.IsZero() || got.Doubt != "" {
		t.Errorf("a failed run: %+v", got)
	}
	if got := answers.Runs[aliveRun]; got.State != "running" || !got.EndedAt.IsZero() || got.Doubt != "" {
		t.Errorf("a running run: %+v", got)
	}
	if !answers.ClockKnown || answers.Ahead.Abs() > time.Minute {
		t.Errorf("on the same host the clock is ahead by %s (known: %t)", answers.Ahead, answers.ClockKnown)
	}
}

func matched(t *testing.T, d *deployment) {
	one, other := d.copied(t, "ended", "twin"), d.copied(t, "números", "twin")
	d.rows(t, "set", "twin", "success", "running")
	answers, err := d.client.Ask(t.Context(), airflow.Questions{Tasks: []airflow.TaskInstance{
		task(one, "success"), task(other, "success"), task(other, "failed"), task(endedRun, "failed"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[airflow.TaskInstance]airflow.TaskState{
		task(one, "success"): "running", task(other, "success"): "success", task(other, "failed"): "", task(endedRun, "failed"): "failed",
	} {
		if got := answers.Tasks[asked]; got.State != want || (got.Doubt != "") != (want == "") {
			t.Errorf("%s: %+v, want %s", asked.Holder(), got, want)
		}
	}
}

func noRow(t *testing.T, d *deployment) {
	for asked, want := range map[airflow.TaskInstance]string{
		task(endedRun, "nothing"): "no such task instance",
		task(airflow.DagRun{DagID: "nothing", RunID: runID}, "success"): "no such task instance",
		task(endedRun, "mapped"):     "is mapped",
		task(endedRun, "mapped", 2):  "no instance of it with the map index 2",
		task(endedRun, "success", 0): "no instance of it with the map index 0",
	} {
		if got := d.askTask(t, asked); got.State != "" || !strings.Contains(got.Doubt, want) {
			t.Errorf("%s: %+v", asked.Holder(), got)
		}
	}
	if got := d.askRun(t, airflow.DagRun{DagID: "ended", RunID: "nothing"}); got.State != "" || !strings.Contains(got.Doubt, "404 Not Found (The DagRun with dag_id") {
		t.Errorf("%+v", got)
	}
}

func purged(t *testing.T, d *deployment) {
	run := d.copied(t, "ended", "purged")
	d.Call(t, http.MethodDelete, "/api/v2/dags/ended/dagRuns/purged", nil)
	if got := d.askTask(t, task(run, "success")); got.State != "" || got.Doubt == "" {
		t.Errorf("the task: %+v", got)
	}
	if got := d.askRun(t, run); got.State != "" || got.Doubt == "" {
		t.Errorf("the run: %+v", got)
	}
}

func hidden(t *testing.T, d *deployment) {
	run := d.copied(t, "hidden", "one")
	d.rows(t, "hide", run.DagID)
	if got := d.askRun(t, run); got.State != "" || !strings.Contains(got.Doubt, "403 Forbidden") {
		t.Errorf("the run: %+v", got)
	}
	if got := d.askTask(t, task(run, "success")); got.State != "" || !strings.Contains(got.Doubt, "not for this account to read") {
		t.Errorf("the task: %+v", got)
	}
}

func cleared(t *testing.T, d *deployment) {
	run := d.copied(t, "ended", "cleared")
	d.Call(t, http.MethodPost, "/api/v2/dags/ended/clearTaskInstances", map[string]any{
		"dry_run": false, "only_failed": false, "dag_run_id": run.RunID, "task_ids": []string{"success"},
	})
	if got := d.askTask(t, task(run, "success")); got.State.Terminal() || got.Doubt != "" || !got.EndedAt.IsZero() {
		t.Errorf("the task: %+v", got)
	}
	if got := d.askRun(t, run); got.State != "queued" || got.Doubt != "" || !got.EndedAt.IsZero() {
		t.Errorf("the run: %+v", got)
	}
}

func ids(t *testing.T, d *deployment) {
	for _, id := range []string{"scheduled__2026-10-05T00:00:00+05:30", "a+b c%2Fd?e#f", "ключ", "a..b", "part/one", "..", "."} {
		run := d.copied(t, "números", id)
		if got := d.askRun(t, run); got.State != "failed" {
			t.Errorf("the run %q: %+v", id, got)
		}
	}
	if got := d.askRun(t, airflow.DagRun{DagID: "números", RunID: "no/thing"}); got.State != "" || !strings.Contains(got.Doubt, "with this id alone") {
		t.Errorf("a run that there is not, and that has no path: %+v", got)
	}
}

func manyPages(t *testing.T, d *deployment) {
	const instances, perPage = 130, 9
	run := airflow.DagRun{DagID: "ended", RunID: "paged"}
	var indexes []string
	var tasks []airflow.TaskInstance
	for i := range instances {
		indexes = append(indexes, strconv.Itoa(i))
		tasks = append(tasks, task(run, "success", i))
	}
	d.rows(t, append([]string{"copy", run.DagID, run.RunID}, indexes...)...)
	d.client.pageSize = perPage
	defer func() { d.client.pageSize = pageSize }()
	before := d.caller.Counts()["list task instances"]
	answers, err := d.client.Ask(t.Context(), airflow.Questions{Tasks: tasks})
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range tasks {
		if got := answers.Tasks[asked]; got.State != "success" {
			t.Errorf("%s: %+v", asked.Holder(), got)
		}
	}
	if calls, want := d.caller.Counts()["list task instances"]-before, (instances+perPage-1)/perPage; calls != want {
		t.Errorf("%d calls for %d pages", calls, want)
	}
}

func manyRuns(t *testing.T, d *deployment) {
	const runs = 2*runsPerList + 1
	d.rows(t, "many", strconv.Itoa(runs), "1")
	var q airflow.Questions
	for n := range runs {
		run := airflow.DagRun{DagID: "ended", RunID: "crowd-" + strconv.Itoa(n)}
		q.Runs, q.Tasks = append(q.Runs, run), append(q.Tasks, task(run, "success", 0))
	}
	q.Runs = append(q.Runs, aliveRun)
	before := d.caller.Counts()
	answers, err := d.client.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range q.Tasks {
		if got := answers.Tasks[asked]; got.State != "success" {
			t.Errorf("%s: %+v", asked.Holder(), got)
		}
		if got := answers.Runs[asked.DagRun]; got.State != "failed" {
			t.Errorf("%s: %+v", asked.Owner(), got)
		}
	}
	if got := answers.Runs[aliveRun]; got.State != "running" {
		t.Errorf("%s: %+v", aliveRun.Owner(), got)
	}
	for verb, want := range map[string]int{"list task instances": 3, "list Dag runs": 2, "read a Dag run": 0} {
		if calls := d.caller.Counts()[verb] - before[verb]; calls != want {
			t.Errorf("%s: %d calls, want %d", verb, calls, want)
		}
	}
}

func refusedToken(t *testing.T, d *deployment) {
	d.client.session.set("of yesterday")
	before := d.caller.Counts()["log in to Airflow"]
	if got := d.askTask(t, task(endedRun, "success")); got.State != "success" {
		t.Errorf("%+v", got)
	}
	if logins := d.caller.Counts()["log in to Airflow"] - before; logins != 1 {
		t.Errorf("%d log-ins", logins)
	}
	given, err := New(Options{URL: d.URL, Token: d.Token(t, airflowtest.Viewer), Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := given.Ask(t.Context(), airflow.Questions{Runs: []airflow.DagRun{endedRun}}); err != nil {
		t.Errorf("with a token: %v", err)
	}
}

func askedNothing(t *testing.T, d *deployment) {
	for password, want := range map[string]error{airflowtest.Viewer: nil, "not-the-password": backend.ErrUnauthorized} {
		caller := &backend.Caller{}
		client, err := New(Options{URL: d.URL, Username: airflowtest.Viewer, Password: password, Caller: caller, Clock: clock.System()})
		if err != nil {
			t.Fatal(err)
		}
		answers, err := client.Ask(t.Context(), airflow.Questions{})
		if !errors.Is(err, want) || err == nil && !answers.ClockKnown {
			t.Errorf("%+v, error %v; want %v", answers, err, want)
		}
		calls := 0
		for _, n := range caller.Counts() {
			calls += n
		}
		if calls > 2 {
			t.Errorf("%v: a log-in and a list are enough", caller.Counts())
		}
	}
}

func wrongAccount(t *testing.T, d *deployment) {
	const secret = "not-the-password"
	for _, o := range []Options{
		{Username: airflowtest.Viewer, Password: secret},
		{Token: secret},
	} {
		o.URL, o.Clock = d.URL, clock.System()
		client, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Ask(t.Context(), airflow.Questions{Runs: []airflow.DagRun{endedRun}})
		if !errors.Is(err, backend.ErrUnauthorized) || !strings.Contains(err.Error(), d.URL) || strings.Contains(err.Error(), secret) {
			t.Errorf("%v", err)
		}
	}
}

func wrongURL(t *testing.T, d *deployment) {
	for _, o := range []Options{
		{URL: d.URL + "/dags", Username: airflowtest.Viewer, Password: airflowtest.Viewer},
		{URL: d.URL + "/ui", Token: d.Token(t, airflowtest.Viewer)},
	} {
		o.Clock = clock.System()
		client, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Ask(t.Context(), airflow.Questions{Runs: []airflow.DagRun{endedRun}})
		if !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), "the URL") {
			t.Errorf("%s: %v", o.URL, err)
		}
	}
}

func prefix(t *testing.T, d *deployment) {
	target, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(http.StripPrefix("/of/ours", httputil.NewSingleHostReverseProxy(target)))
	defer proxy.Close()
	client, err := New(Options{URL: proxy.URL + "/of/ours/", Username: airflowtest.Viewer, Password: airflowtest.Viewer, Clock: clock.System()})
	if err != nil {
		t.Fatal(err)
	}
	answers, err := client.Ask(t.Context(), airflow.Questions{Runs: []airflow.DagRun{endedRun}, Tasks: []airflow.TaskInstance{task(endedRun, "failed")}})
	if err != nil || answers.Runs[endedRun].State != "failed" || answers.Tasks[task(endedRun, "failed")].State != "failed" {
		t.Errorf("%+v, %v", answers, err)
	}
}
