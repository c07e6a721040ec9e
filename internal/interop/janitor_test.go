// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// janitor is the built one with a configuration and a memory of its own.
type janitor struct{ config string }

// newJanitor looks at one place; settings is further YAML.
func newJanitor(t *testing.T, uri, settings string) janitor {
	t.Helper()
	dir := t.TempDir()
	j := janitor{filepath.Join(dir, "janitor.yaml")}
	text := fmt.Sprintf("mode: enforce\nstate: file://%s/state\nconnections: {lab: {uri: %q}}\n%s\n", dir, uri, settings)
	if err := os.WriteFile(j.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return j
}

// run runs a command, which must end well, and returns what it says.
func (j janitor) run(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "janitor"), append(args, "--config", j.config)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("janitor %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
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

func TestJanitorReclaimsWhatAirflowMadeAndLeftPastItsEndAndNothingElse(t *testing.T) {
	const app, run = "made-by-airflow", "etl/scheduled__2026-10-05T00:00:00+00:00"
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

	j := newJanitor(t, "modal://main/"+app, "")
	for range 2 {
		j.run(t, "sweep", "--auto-approve")
	}
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
