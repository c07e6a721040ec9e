// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// janitor is the built one with a configuration and a memory of its own.
type janitor struct{ config string }

// newJanitor looks at one place, and does what it finds. Its graces are the
// shortest within which clocks can be compared that tell the time in seconds.
func newJanitor(t *testing.T, uri string) janitor {
	t.Helper()
	dir := t.TempDir()
	j := janitor{filepath.Join(dir, "janitor.yaml")}
	text := fmt.Sprintf(`
mode: enforce
state: file://%s/state
airflow: {lab: {url: %q, deployment: %s}}
connections: {lab: {uri: %q, airflow: lab, rules: {stale_holder: enforce, finished_owner: enforce}}}
grace: {stale_holder: 3s, finished_owner: 3s}
`, dir, lab.URL, deploymentMarker, uri)
	if err := os.WriteFile(j.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return j
}

// run runs a command, which must end well, and returns what it says.
func (j janitor) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "janitor"), append(args, "--config", j.config)...)
	cmd.Env = append(os.Environ(), "AIRFLOW_LAB_USERNAME="+airflowtest.Viewer, "AIRFLOW_LAB_PASSWORD="+airflowtest.Viewer)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("janitor %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// sweep looks until two looks in a row find nothing that goes, now or later.
func (j janitor) sweep(t *testing.T) {
	t.Helper()
	for quiet := 0; quiet < 2; quiet++ {
		var report struct {
			Connections []struct {
				Counts struct{ Reclaim, Release, Later int }
			}
		}
		said := j.run(t, "sweep", "--auto-approve", "--output", "json", "--log-level", "error")
		if err := json.Unmarshal([]byte(said), &report); err != nil || len(report.Connections) != 1 {
			t.Fatalf("%v\n%s", err, said)
		}
		if c := report.Connections[0].Counts; c.Reclaim+c.Release+c.Later > 0 {
			quiet = -1
		}
	}
}

// airflowMade is a sandbox that Airflow's own backend made an hour ago.
type airflowMade struct {
	lifetime time.Duration
	owner    string            // empty: none
	author   map[string]string // tags of the Dag author
	held     string            // by whom
	stands   bool              // after a sweep
}

func (a airflowMade) make(t *testing.T, app string) (handle string) {
	t.Helper()
	settings := arguments{"app_name": app, "sandbox_timeout": a.lifetime.Seconds(), "tags": a.author}
	spec := arguments{}
	if a.owner != "" {
		spec["owner"] = a.owner
	}
	server.Advance(-time.Hour)
	defer server.Advance(time.Hour)
	handle = ask[string](t, "create", arguments{"settings": settings, "spec": spec, "ago": 3600})
	if a.held != "" {
		retagAt(t, open(t, "modal://main/"+app), handle, sandbox.Tags{airflow.TagHolder: a.held})
	}
	return handle
}

func whatAirflowLeftPastItsEndGoes(t *testing.T) {
	const app, run = "past-its-end", "etl/scheduled__2026-10-05T00:00:00+00:00"
	const past, later = 2 * time.Minute, 2 * time.Hour
	deployed := map[string]string{sandbox.TagDeployment: "prod", "dag_id": "etl", "team": oddValue}
	protected := map[string]string{sandbox.TagProtect: "yes"}
	sandboxes := map[string]airflowMade{
		"toolset-owned, past its end":  {lifetime: past},
		"task-owned, past its end":     {lifetime: past, owner: run},
		"with tags, past its end":      {lifetime: past, owner: run, author: deployed},
		"held, past its end":           {lifetime: past, owner: run, held: run + "/agent"},
		"toolset-owned":                {lifetime: later, stands: true},
		"task-owned":                   {lifetime: later, owner: run, stands: true},
		"with tags":                    {lifetime: later, owner: run, author: deployed, stands: true},
		"held":                         {lifetime: later, owner: run, author: deployed, held: run + "/agent[3]", stands: true},
		"owned by nobody's run":        {lifetime: later, owner: owner, stands: true},
		"protected, past its end":      {lifetime: past, author: protected, stands: true},
		"with an owner of its author":  {lifetime: later, author: map[string]string{airflow.TagOwner: run}, stands: true},
		"with an expiry of its author": {lifetime: later, author: map[string]string{airflow.TagExpiresAt: "1"}, stands: true},
	}
	handles := map[string]string{}
	for name, a := range sandboxes {
		handles[name] = a.make(t, app)
	}
	server.Advance(-time.Hour)
	foreign := ask[string](t, "create_plain", arguments{"app": app, "tags": arguments{"team": "research"}})
	server.Advance(time.Hour)
	handles["foreign, past its end"], sandboxes["foreign, past its end"] = foreign, airflowMade{stands: true}

	checkSwept(t, app, sandboxes, handles)
}

// checkSwept has the janitor sweep an app, and checks what stands then.
func checkSwept(t *testing.T, app string, sandboxes map[string]airflowMade, handles map[string]string) {
	t.Helper()
	j := newJanitor(t, "modal://main/"+app)
	j.sweep(t)
	place := open(t, "modal://main/"+app)
	for name, handle := range handles {
		found, err := place.Get(t.Context(), sandbox.Ref{Handle: handle})
		gone := errors.Is(err, backend.ErrNotFound) || err == nil && found.State != sandbox.Running
		if err != nil && !gone {
			t.Fatal(err)
		}
		if gone == sandboxes[name].stands {
			t.Errorf("%s: gone: %t\n%s", name, gone, j.run(t, "explain", "lab#"+handle))
		}
	}
}

// The same Dag and the same run may be in another deployment, and live there.
func onlyItsOwnDeploymentIsBelieved(t *testing.T) {
	lab.outcomes(t, "attach", "original") // the run is over
	const app, later = "of-runs", 2 * time.Hour
	over := run("attach").Owner()
	ours := map[string]string{sandbox.TagDeployment: deploymentMarker}
	task := airflow.TaskInstance{DagRun: run("attach"), TaskID: "of_the_run", MapIndex: -1}.Holder()
	sandboxes := map[string]airflowMade{
		"its run is over":                       {lifetime: later, owner: over, author: ours},
		"its run is over, as is who holds it":   {lifetime: later, owner: over, author: ours, held: task},
		"of no deployment":                      {lifetime: later, owner: over, stands: true},
		"of another deployment":                 {lifetime: later, owner: over, author: map[string]string{sandbox.TagDeployment: "prod"}, stands: true},
		"of a run that nobody knows":            {lifetime: later, owner: over + "1", author: ours, stands: true},
		"of no run":                             {lifetime: later, author: ours, stands: true},
		"with the owner of a Terraform":         {lifetime: later, owner: owner, author: ours, stands: true},
		"held by a task that nobody knows":      {lifetime: later, owner: over, author: ours, held: task + "1", stands: true},
		"held by an index that nobody knows":    {lifetime: later, owner: over, author: ours, held: task + "[7]", stands: true},
		"held by what is no task":               {lifetime: later, owner: over, author: ours, held: owner, stands: true},
		"held by a task of another deployment":  {lifetime: later, owner: over, held: task, stands: true},
		"held by a run that nobody knows, ours": {lifetime: later, owner: over, author: ours, held: over + "1/agent", stands: true},
	}
	handles := map[string]string{}
	for name, a := range sandboxes {
		handles[name] = a.make(t, app)
	}
	checkSwept(t, app, sandboxes, handles)
}

// The task has left its claim behind, as one does that is killed.
func releasedClaimLetsTheNextTaskIn(t *testing.T) {
	lab.outcomes(t, "attach", "mapped")
	it := made(t, "mapped")
	held := tags(t, it.Handle)
	if airflow.Holder(held) == "" {
		t.Fatal("nobody holds it")
	}
	j := newJanitor(t, place)
	j.sweep(t)
	free := held.Clone()
	delete(free, airflow.TagHolder)
	wantTags(t, "after a sweep", it.Handle, free)
	attach(t, it.Handle, it.Owner)
	release(t, it.Handle)
}
