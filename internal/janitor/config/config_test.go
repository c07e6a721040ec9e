// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package config_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/config"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// parseURI stands for connect.Parse: two schemes, canonical settings.
func parseURI(uri string) (backend.Connection, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return backend.Connection{}, err
	}
	if u.Scheme != "local" && u.Scheme != "modal" {
		return backend.Connection{}, fmt.Errorf("unknown scheme %q", u.Scheme)
	}
	return backend.Connection{Scheme: u.Scheme, Authority: u.Host, Path: u.Path, Settings: u.Query()}, nil
}

func load(text string) (config.Config, error) {
	return config.Load("janitor.yaml", []byte(text), parseURI)
}

const whole = `# everything there is
mode: enforce
state: file:///var/lib/sandbox-janitor
schedule: "*/5 * * * *"
airflow:
  prod: {url: "https://airflow.example.com/prod/", deployment: prod}
  lab: {url: "http://127.0.0.1:8080"}
connections:
  local: {uri: "local:///var/lib/sandboxes", rules: {orphaned_workspace: enforce}}
  modal-prod:
    uri: modal://main/airflow-sandbox?b=2&a=1
    schedule: TZ=Europe/Paris 30 4 * * *
    airflow: prod
    rules:
      expired: report
      stale_holder: enforce
  modal-lab: {uri: "modal://lab/airflow-sandbox", airflow: lab, exclusive: true, trust_host_clock: true}
grace: {expired: 90s, orphaned_workspace: 36h}
limits: {deletes_per_run: 7, share: 0.5, run_deadline: 2m}
protect:
  owners: ["terraform:prod/*"]
  tags: {team: research}
  handles: ["local#sb-01JB2"]
`

func TestEveryKeyOfTheFileIsInForce(t *testing.T) {
	c, err := load(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]any{
		"mode": verdict.Mode(c.Mode), "state": c.State, "names": c.Names(),
		"schedules": []string{c.ScheduleOf("local"), c.ScheduleOf("modal-prod")},
		"uri":       c.Connections["modal-prod"].URI, "limits": c.Limits,
		"policy": c.Policy("local"), "other modes": c.Policy("modal-prod").Modes,
		"trusted": []bool{c.Policy("modal-prod").TrustHostClock, c.Policy("modal-lab").TrustHostClock},
		"airflow": c.Airflow["prod"].URL, "believed": []verdict.Deployment{c.Policy("modal-prod").Airflow, c.Policy("modal-lab").Airflow},
	} {
		want := map[string]any{
			"mode": verdict.Enforce, "state": "file:///var/lib/sandbox-janitor", "names": []string{"local", "modal-lab", "modal-prod"},
			"schedules": []string{"*/5 * * * *", "TZ=Europe/Paris 30 4 * * *"},
			"uri":       "modal://main/airflow-sandbox?a=1&b=2",
			"limits":    config.Limits{DeletesPerRun: 7, Share: 0.5, RunDeadline: config.Duration(2 * time.Minute)},
			"policy": verdict.Policy{
				Connection: "local", Mode: verdict.Enforce, Share: 0.5,
				Modes: map[verdict.Reason]verdict.Mode{
					"expired": verdict.Enforce, "failed_teardown": verdict.Enforce, "retired": verdict.Enforce,
					"stale_holder": verdict.Report, "finished_owner": verdict.Report, "orphaned_workspace": verdict.Enforce,
				},
				Graces: map[verdict.Reason]time.Duration{
					"expired": 90 * time.Second, "failed_teardown": 15 * time.Minute, "retired": time.Hour,
					"stale_holder": 15 * time.Minute, "finished_owner": 30 * time.Minute, "orphaned_workspace": 36 * time.Hour,
				},
				Protect: verdict.Protection{
					Owners: []string{"terraform:prod/*"}, Tags: map[string]string{"team": "research"}, Handles: []string{"local#sb-01JB2"},
				},
			},
			"other modes": map[verdict.Reason]verdict.Mode{
				"expired": verdict.Report, "failed_teardown": verdict.Enforce, "retired": verdict.Enforce,
				"stale_holder": verdict.Enforce, "finished_owner": verdict.Report, "orphaned_workspace": verdict.Report,
			},
			"trusted":  []bool{false, true},
			"airflow":  "https://airflow.example.com/prod",
			"believed": []verdict.Deployment{{Name: "prod", Marker: "prod"}, {Name: "lab", Exclusive: true}},
		}[name]
		if diff := cmp.Diff(want, got, cmp.FilterPath(unexported, cmp.Ignore())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func unexported(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	return ok && field.Name()[0] >= 'a'
}

func TestDefaultsReportAndNeverDestroy(t *testing.T) {
	c := config.Default()
	if verdict.Mode(c.Mode) != verdict.Report {
		t.Errorf("mode %v", c.Mode)
	}
	c.Add("local:", backend.Connection{Scheme: "local"})
	p := c.Policy("local:")
	if p.Mode != verdict.Report || p.Modes["expired"] != verdict.Enforce || p.Graces["expired"] != 5*time.Minute {
		t.Errorf("policy of a bare URI: %+v", p)
	}
	if c.Limits != (config.Limits{DeletesPerRun: 20, Share: 0.25, RunDeadline: config.Duration(10 * time.Minute)}) {
		t.Errorf("limits %+v", c.Limits)
	}
}

func TestWhatIsPrintedIsReadToTheSameEffect(t *testing.T) {
	for name, text := range map[string]string{"whole": whole, "empty": "", "comment": "# nothing\n"} {
		first, err := load(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		printed, err := first.YAML()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		second, err := load(string(printed))
		if err != nil {
			t.Fatalf("%s: what is printed is refused: %v\n%s", name, err, printed)
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Errorf("%s (-read +read again):\n%s", name, diff)
		}
	}
}

// airflowFile is a file with that of an Airflow and of a connection.
func airflowFile(deployments, connection string) string {
	return fmt.Sprintf("airflow: {%s}\nconnections: {a: {uri: 'local:', %s}}\n", deployments, connection)
}

func TestMistakesAreRefusedWithTheirPlaceAndWhatToDo(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"misspelt key", "mode: report\nshedule: '@hourly'\n", `janitor.yaml:2:1: shedule: unknown key; did you mean "schedule"?`},
		{"misspelt key below", "connections:\n  lab:\n    url: 'local:'\n", `janitor.yaml:3:5: connections.lab.url: unknown key; did you mean "uri"?`},
		{"misspelt key in braces", "limits: {share: 0.2, delete_per_run: 3}", `janitor.yaml:1:22: limits.delete_per_run: unknown key; did you mean "deletes_per_run"?`},
		{"key from elsewhere", "modules: {}\n", `janitor.yaml:1:1: modules: unknown key; known here: mode, state, schedule, airflow, connections, grace, limits, protect`},
		{"key twice", "mode: report\nmode: enforce\n", `janitor.yaml:2:1: mapping key "mode" already defined at [1:1]`},
		{"no unit", "grace: {expired: 5}\n", `janitor.yaml:1:18: grace.expired: want a duration with its unit, such as 90s, 5m or 24h, not "5"`},
		{"days", "grace:\n  expired: 1d\n", `janitor.yaml:2:12: grace.expired: want a duration with its unit, such as 90s, 5m or 24h, not "1d"`},
		{"a list for a duration", "grace: {expired: [5m]}\n", `grace.expired: want a duration`},
		{"zero", "grace: {expired: 0s}\n", `janitor.yaml:1:18: grace.expired: must be more than zero, not 0s`},
		{"negative", "grace: {expired: -5m}\n", `janitor.yaml:1:18: grace.expired: must be more than zero, not -5m`},
		{"reason misspelt", "grace: {expird: 5m}\n", `janitor.yaml:1:17: grace.expird: unknown reason; did you mean "expired"?`},
		{"reason unknown", "connections: {a: {uri: 'local:', rules: {boredom: enforce}}}\n", `connections.a.rules.boredom: unknown reason; known here: expired, failed_teardown, retired, stale_holder, finished_owner, orphaned_workspace`},
		{"mode", "mode: dry\n", `janitor.yaml:1:7: mode: want report or enforce, not "dry"`},
		{"mode of a rule", "connections: {a: {uri: 'local:', rules: {expired: on}}}\n", `connections.a.rules.expired: want report or enforce, not "on"`},
		{"mode nothing", "mode: ''\n", `want report or enforce, not ""`},
		{"text for a number", "limits:\n  deletes_per_run: many\n", `janitor.yaml:2:20: limits.deletes_per_run: want a whole number, not "many"`},
		{"part of a deletion", "limits: {deletes_per_run: 1.5}\n", `janitor.yaml:1:27: limits.deletes_per_run: want a whole number, not "1.5"`},
		{"tag that reads as another number", "protect: {tags: {release: 1.10}}\n", `janitor.yaml:1:27: protect.tags.release: YAML reads this as 1.1; write that, or in quotes "1.10"`},
		{"tag that reads as octal", "protect: {tags: {team: 010}}\n", `protect.tags.team: YAML reads this as 8; write that, or in quotes "010"`},
		{"key that reads as another number", "protect: {tags: {1.10: red}}\n", `protect.tags.1.10: YAML reads this as 1.1; write that, or in quotes "1.10"`},
		{"owner that reads as a truth value", "protect:\n  owners: [lab, TRUE]\n", `janitor.yaml:2:17: protect.owners.1: YAML reads this as true; write that, or in quotes "TRUE"`},
		{"marker that reads as another number", "airflow: {prod: {url: \"https://x\", deployment: 1.0}}\n", `airflow.prod.deployment: YAML reads this as 1; write that, or in quotes "1.0"`},
		{"text for a mapping", "limits: 5\n", `janitor.yaml:1:9: limits: want a mapping`},
		{"text for a list", "protect: {owners: prod}\n", `janitor.yaml:1:19: protect.owners: want a list`},
		{"a list for the file", "- mode: report\n", `janitor.yaml:1:1: want a mapping`},
		{"no deletes", "limits: {deletes_per_run: 0}\n", `limits.deletes_per_run: must be at least 1; to destroy nothing, set mode: report`},
		{"share of nothing", "limits: {share: 0}\n", `limits.share: must be more than 0 and at most 1`},
		{"share of more than all", "limits: {share: 25}\n", `limits.share: must be more than 0 and at most 1`},
		{"share that is no number", "limits: {share: .nan}\n", `limits.share: must be more than 0 and at most 1`},
		{"no deadline", "limits: {run_deadline: 0s}\n", `limits.run_deadline: must be more than zero`},
		{"endless run", "limits: {run_deadline: 48h}\n", `limits.run_deadline: must be at most 1h`},
		{"schedule never fires", "schedule: 0 0 30 2 *\n", `janitor.yaml:1:11: schedule: the schedule "0 0 30 2 *" never fires`},
		{"schedule the library panics on", "connections:\n  a: {uri: 'local:', schedule: TZ=UTC}\n", `connections.a.schedule: the schedule has a time zone "UTC" and nothing after it`},
		{"state elsewhere", "state: s3://bucket\n", `janitor.yaml:1:8: state: want file:///ABSOLUTE/DIRECTORY or none, not "s3://bucket"`},
		{"state relative", "state: file:state\n", `state: want file:///ABSOLUTE/DIRECTORY`},
		{"state on a host", "state: file://host/dir\n", `state: want file:///ABSOLUTE/DIRECTORY`},
		{"no uri", "connections:\n  a: {}\n", `connections.a: a connection needs its uri`},
		{"bad uri", "connections:\n  a: {uri: 'moon:'}\n", `janitor.yaml:2:12: connections.a.uri: unknown scheme "moon"`},
		{"one place twice", "connections:\n  a: {uri: 'local:'}\n  b: {uri: 'local:?x=1'}\n", `janitor.yaml:3:12: connections.b.uri: the same place as the connection "a"`},
		{"an Airflow nobody knows", airflowFile("prod: {url: 'https://a', deployment: x}", "airflow: prd"), `connections.a.airflow: no Airflow is named "prd"; did you mean "prod"?`},
		{"an Airflow without url", airflowFile("prod: {deployment: x}", "airflow: prod"), `airflow.prod.url: want an address such as https://airflow.example.com`},
		{"an Airflow elsewhere", airflowFile("prod: {url: 'airflow.example.com', deployment: x}", "airflow: prod"), `airflow.prod.url: want an address such as https://airflow.example.com`},
		{"an Airflow by its API", airflowFile("prod: {url: 'https://a/api/v2/', deployment: x}", "airflow: prod"), `airflow.prod.url: want the address of the server, without /api/v2`},
		{"a secret in an Airflow's url", airflowFile("prod: {url: 'https://me:hunter2@a', deployment: x}", "airflow: prod"), `airflow.prod.url: want the address alone`},
		{"a token in an Airflow's url", airflowFile("prod: {url: 'https://a?token=hunter2', deployment: x}", "airflow: prod"), `airflow.prod.url: want the address alone`},
		{"an Airflow of no deployment", airflowFile("prod: {url: 'https://a'}", "airflow: prod"), `connections.a.airflow: no sandbox can be known for its own: give airflow.prod its deployment`},
		{"one set of credentials for two Airflows", airflowFile("a-b: {url: 'https://a', deployment: x}, a_b: {url: 'https://b', deployment: y}", "airflow: a-b"), `airflow.a_b: its credentials would be those of "a-b": both are read from AIRFLOW_A_B_TOKEN`},
		{"an Airflow's name", airflowFile("'a b': {url: 'https://a', deployment: x}", "airflow: 'a b'"), `airflow.a b: a deployment's name has letters, digits`},
		{"exclusive to nobody", "connections: {a: {uri: 'local:', exclusive: true}}\n", `connections.a.exclusive: says of no Airflow that the place is its alone`},
		{"exclusive is no yes or no", airflowFile("prod: {url: 'https://a'}", "airflow: prod, exclusive: sometimes"), `connections.a.exclusive: want true or false`},
		{"a claim is to be released, and nobody can be asked", "connections: {a: {uri: 'local:', rules: {stale_holder: enforce}}}\n", `connections.a.rules.stale_holder: nobody can be asked: name an Airflow as airflow`},
		{"name like a URI", "connections: {'local:': {uri: 'local:'}}\n", `a connection's name has letters, digits`},
		{"protected handle without connection", "protect: {handles: [sb-1]}\n", `janitor.yaml:1:21: protect.handles.0: want CONNECTION#HANDLE, not "sb-1"`},
		{"protected handle of nobody", "connections: {modal: {uri: 'modal:'}}\nprotect:\n  handles:\n    - modl#sb-1\n", `janitor.yaml:4:7: protect.handles.0: no connection is named "modl"; did you mean "modal"?`},
		{"protected owner is empty", "protect: {owners: ['']}\n", `an empty pattern protects nothing`},
		{"no value", "grace:\n  expired:\n", `janitor.yaml:2:3: grace.expired: has no value; leave the key out instead`},
		{"no value in braces", "grace: {expired}\n", `grace.expired: has no value`},
		{"null", "limits: ~\n", `limits: has no value`},
		{"anchor", "mode: &m report\n", `janitor.yaml:1:1: mode: anchors, aliases and tags are not read here`},
		{"merge", "connections:\n  a: &a {uri: 'local:'}\n  b:\n    <<: *a\n", `connections.b.<<: anchors, aliases and tags are not read here`},
		{"tag", "mode: !!str report\n", `mode: anchors, aliases and tags are not read here`},
		{"not YAML", "mode: [report\n", `janitor.yaml:1:7: `},
		{"colon at the end", "connections:\n  a:\n    uri: local:\n", `a value that ends in a colon, such as local:, needs quotes`},
		{"two documents", "mode: report\n---\nmode: enforce\n", `a second YAML document`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := load(c.text)
			if err == nil {
				t.Fatalf("accepted: %+v", got)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("says %q, want %q", err, c.want)
			}
			var problem config.Problem
			if !errors.As(err, &problem) || problem.Line == 0 || problem.Column == 0 {
				t.Errorf("%q has no place", err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%q repeats a secret", err)
			}
			if strings.Contains(err.Error(), "config.") || strings.Contains(err.Error(), "Go ") {
				t.Errorf("%q speaks of our source code", err)
			}
		})
	}
}

func TestCredentialsOfAnAirflowAreReadFromVariablesNamedAfterIt(t *testing.T) {
	token, username, password := config.Variables("prod-eu")
	if token != "AIRFLOW_PROD_EU_TOKEN" || username != "AIRFLOW_PROD_EU_USERNAME" || password != "AIRFLOW_PROD_EU_PASSWORD" {
		t.Errorf("%s, %s, %s", token, username, password)
	}
}

func TestAllMistakesAreToldAtOnceInTheOrderOfTheFile(t *testing.T) {
	_, err := load("schedule: , * * * *\nlimits: {share: 3}\nstate: here\n")
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "schedule") || !strings.Contains(lines[1], "share") || !strings.Contains(lines[2], "state") {
		t.Errorf("says %q", lines)
	}
}

func TestOneLocationUnderTwoAccountsIsTwoPlaces(t *testing.T) {
	if _, err := load("connections: {a: {uri: 'modal:?credentials=a'}, b: {uri: 'modal:?credentials=b'}}"); err != nil {
		t.Error(err)
	}
}

func TestDurationsAreWrittenAsAPersonWould(t *testing.T) {
	for text, want := range map[string]string{"24h": "24h", "90s": "1m30s", "5m": "5m", "1h30m": "1h30m", "1500ms": "1.5s", "60m": "1h", "3601s": "1h0m1s", "10s": "10s"} {
		d, err := config.ParseDuration(text)
		if err != nil || d.String() != want {
			t.Errorf("%s is written %s (%v), want %s", text, d, err, want)
		}
	}
}

func FuzzLoadNeverPanicsAndPrintsWhatItReads(f *testing.F) {
	f.Add(whole)
	f.Add("mode: report\nshedule: x\n")
	f.Add("a: &x {<<: *x}")
	f.Add("connections: [1]")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := load(text)
		if err != nil {
			return
		}
		printed, err := c.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := load(string(printed))
		if err != nil {
			t.Fatalf("printed, then refused: %v\n%s", err, printed)
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAnyDirectoryIsAStateAndReadBack(t *testing.T) {
	for _, directory := range []string{"/var/lib/taskowned/janitor", "/srv/a b", "/srv/50%#?", "/"} {
		if got, err := config.StateDirectory(config.StateOf(directory)); got != directory || err != nil {
			t.Errorf("%s is written %s and read %s, %v", directory, config.StateOf(directory), got, err)
		}
	}
}
