// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/report"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

func dead(handle string, reason verdict.Reason, ago time.Duration, owner string) verdict.Verdict {
	return verdict.Verdict{
		Key:     verdict.Key{Ref: sandbox.Ref{Handle: handle, Incarnation: "1"}},
		Outcome: verdict.Condemned, Mode: verdict.Enforce, Reason: reason, Dated: true,
		Since: noon.Add(-ago), Ripe: noon.Add(-ago + 5*time.Minute), Owner: owner,
		Evidence: []verdict.Evidence{{Fact: "expiry", Value: noon.Add(-ago).Format(time.RFC3339), Source: "tag airflow_expires_at"}},
	}
}

// planned is a look at four places: one with everything, one that is fine, one
// that failed and one that a breaker protects.
func planned() janitor.Result {
	reported := dead("trash/3f2a", "orphaned_workspace", 30*time.Hour, "")
	reported.Mode, reported.Leftover = verdict.Report, true
	quarantined := dead("sb-01J9K", "failed_teardown", 50*time.Hour, "")
	quarantined.Outcome, quarantined.Attempts, quarantined.Error = verdict.Quarantined, 5, "PERMISSION_DENIED: the token's role may not terminate sandboxes of this application"
	unreadable := verdict.Verdict{
		Key:     verdict.Key{Ref: sandbox.Ref{Handle: "sb-01JAA"}},
		Outcome: verdict.Unjudged, Doubt: "its record cannot be read: unexpected end of JSON input",
	}
	later := dead("sb-01JB9", "expired", time.Minute, "")
	later.Outcome = verdict.Suspected
	noted := stale("sb-01JC3")
	noted.Outcome, noted.Mode, noted.Ripe, noted.Doubt = verdict.Suspected, verdict.Report, noon, "one more complete look must agree"
	refused := dead("sb-01JA7", "failed_teardown", 20*time.Hour, "")
	refused.Outcome, refused.Ripe, refused.Attempts, refused.Error = verdict.BackingOff, noon.Add(25*time.Minute), 2, "503"
	stranger := verdict.Verdict{
		Key: verdict.Key{Ref: sandbox.Ref{Handle: "sb-01JD0"}}, Owner: "terraform:staging/analysis",
		Evidence: []verdict.Evidence{{Fact: "holder", Value: "etl/manual/load", Source: "tag airflow_holder"}},
		Doubt:    `the tag taskowned_deployment is "staging", and Airflow prod is "prod"`,
	}
	unheard := verdict.Verdict{
		Key:     verdict.Key{Ref: sandbox.Ref{Handle: "sb-01JD4"}},
		Outcome: verdict.Unheard, Reason: "finished_owner", Owner: "etl/manual__2026-08-01", Doubt: "Airflow prod cannot tell of its run: 404: purged, or never there",
	}
	return janitor.Result{
		RunID: "RUN1", Started: noon.Add(-4 * time.Second), Ended: noon, Exit: janitor.ExitRefused,
		Connections: []janitor.ConnectionResult{
			{
				Name: "modal-prod", Scope: "modal:acme/main/airflow-sandbox", Look: janitor.Look{Complete: true, Took: 3100 * time.Millisecond, LastComplete: noon},
				Counts:  janitor.Counts{Listed: 1204, Alive: 1187, Protected: 9, Foreign: 2, Ended: 1, Unheard: 7, Reclaim: 2, Release: 1, Report: 1, Later: 3, NeedsYou: 2},
				Airflow: &janitor.Hearing{Name: "prod", Asked: 12, LastHeard: noon},
				Verdicts: []verdict.Verdict{
					quarantined, reported,
					dead("sb-01JB2", "expired", 47*time.Minute, "etl_with_a_long_name/scheduled__2026-11-30T09:00:00+00:00"),
					dead("sb-01JB3", "failed_teardown", 20*time.Second, ""), refused, later, unreadable, stale("sb-01JC1"), noted, stranger, unheard,
				},
				OldestLeak: noon.Add(-50 * time.Hour),
			},
			{
				Name: "lab", Look: janitor.Look{Complete: true, Took: 40 * time.Millisecond}, Counts: janitor.Counts{Listed: 3, Alive: 3, Unheard: 2},
				Airflow: &janitor.Hearing{Name: "lab", Asked: 2, Error: "Airflow lab was asked, and nothing is known: 502 Bad Gateway", LastHeard: noon.Add(-3 * time.Hour)},
			},
			{Name: "sbx", Look: janitor.Look{Nothing: true, Error: "list: not signed in: run `sbx login` as airflow", LastComplete: noon.Add(-3 * time.Hour)}},
			{
				Name: "local:///srv/sandboxes", Look: janitor.Look{Complete: true, Took: time.Second},
				Counts:   janitor.Counts{Listed: 10, Alive: 6, Reclaim: 4},
				Verdicts: []verdict.Verdict{dead("staging/7", "orphaned_workspace", 40*time.Hour, "")},
				Refused:  []string{"4 of 10 would go on proofs without a date of their own, more than the share of 0.25"}, Token: "3f2a9c0d1e2b4a5c",
			},
		},
	}
}

// stale is a claim whose task is over.
func stale(handle string) verdict.Verdict {
	v := dead(handle, "stale_holder", 20*time.Minute, "terraform:prod/analysis")
	v.Act, v.Dated, v.Claim = verdict.Release, false, verdict.Claim{Holder: "etl/scheduled__2026-11-30/load", Try: 2}
	v.Evidence = []verdict.Evidence{
		{Fact: "deployment", Value: "prod", Source: "tag taskowned_deployment"},
		{Fact: "holder", Value: v.Claim.Holder, Source: "tag airflow_holder"},
		{Fact: "task", Value: "failed 2026-11-30T11:40:00Z", Source: "Airflow prod"},
	}
	return v
}

func swept() janitor.Result {
	r := planned()
	r.Acted, r.Stopped, r.Unsaved = true, true, "no space left on device"
	c := &r.Connections[0]
	c.OverCap = 1204
	first, second := c.Verdicts[2], c.Verdicts[3]
	c.Actions = []janitor.Action{
		{Key: verdict.Key{Ref: sandbox.Ref{Handle: "sb-01JA0"}}, Reason: "expired", Result: janitor.Reclaimed, At: noon, Detail: "absent by id, asked by an earlier run"},
		{Key: first.Key, Reason: first.Reason, Result: janitor.Asked, At: noon, Attempt: 1},
		{Key: second.Key, Reason: second.Reason, Result: janitor.Failed, At: noon, Attempt: 2, Detail: "unavailable: the server answers 503"},
		{Key: second.Key, Reason: second.Reason, Result: janitor.Spared, At: noon, Detail: "its expiry moved to 13:00"},
		{Key: second.Key, Reason: second.Reason, Result: janitor.Postponed, At: noon, Detail: "the run was stopped"},
		{Key: second.Key, Reason: second.Reason, Result: janitor.Vanished, At: noon},
		{Key: stale("sb-01JC1").Key, Act: verdict.Release, Reason: "stale_holder", Result: janitor.Released, At: noon, Attempt: 1, Detail: "it was held by etl/scheduled__2026-11-30/load"},
		{Key: verdict.Key{Ref: sandbox.Ref{Handle: "sb-01JC2"}}, Act: verdict.Release, Reason: "stale_holder", Result: janitor.Restored, At: noon, Attempt: 1, Detail: `its task is "running"`},
	}
	return r
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func table(t *testing.T, r janitor.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.New(r, "janitor --config janitor.yaml").Table(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTablesAreAsTheyWere(t *testing.T) {
	busy := janitor.Result{Acted: true, Busy: &janitor.Run{ID: "RUN0", Host: "worker-3", Until: noon.Add(time.Hour)}, Exit: janitor.ExitBusy, Ended: noon}
	clean := planned()
	clean.Connections, clean.Exit = clean.Connections[1:2], janitor.ExitClean
	clean.Connections[0].Airflow, clean.Connections[0].Counts.Unheard = nil, 0
	golden(t, "plan.txt", table(t, planned()))
	golden(t, "sweep.txt", table(t, swept()))
	golden(t, "busy.txt", table(t, busy))
	golden(t, "clean.txt", table(t, clean))
}

func TestWhatASweepHasDealtWithDoesNotGoLater(t *testing.T) {
	r := swept()
	c := &r.Connections[0]
	i := slices.IndexFunc(c.Verdicts, func(v verdict.Verdict) bool { return v.Outcome == verdict.Suspected })
	suspect := c.Verdicts[i]
	if text := table(t, r); strings.Count(text, suspect.Handle) != 1 {
		t.Errorf("%s is not to go later once:\n%s", suspect.Handle, text)
	}
	c.Actions = append(c.Actions, janitor.Action{Key: suspect.Key, Act: verdict.Release, Reason: suspect.Reason, Result: janitor.Released, At: noon})
	if text := table(t, r); strings.Count(text, suspect.Handle) != 1 || !strings.Contains(text, suspect.Handle+"  released") {
		t.Errorf("%s is released, and yet to go later:\n%s", suspect.Handle, text)
	}
}

func TestJSONIsAsItWas(t *testing.T) {
	var b bytes.Buffer
	if err := report.New(swept(), "janitor").JSON(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "sweep.json", b.String())
	var document struct {
		Schema  int
		Summary map[string]float64
	}
	if err := json.Unmarshal(b.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	if document.Schema != report.Schema || document.Summary["asked"] != 1 {
		t.Errorf("read back: %+v", document)
	}
}

func TestNothingNeededIsAnEmptyListInJSON(t *testing.T) {
	var b bytes.Buffer
	if err := report.New(janitor.Result{}, "janitor").JSON(&b); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), `"needs_you": []`) {
		t.Errorf("%s", &b)
	}
}

func TestTableFitsAHundredColumnsButNeverCutsAnIdentity(t *testing.T) {
	r := swept()
	r.Connections[0].Verdicts[2].Owner = strings.Repeat("owner", 2000)
	r.Connections[0].Verdicts[0].Error = strings.Repeat("a word ", 100)
	for _, r := range []janitor.Result{planned(), r} {
		for line := range strings.Lines(table(t, r)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
	long := "connection#" + strings.Repeat("x", 200)
	r.Connections[0].Verdicts[2].Handle = long
	r.Acted = false
	if !strings.Contains(table(t, r), long) {
		t.Error("the handle is cut")
	}
}

func TestWhatOthersWroteCannotForgeALine(t *testing.T) {
	r := planned()
	r.Connections[0].Verdicts[2].Owner = "me\n0 to reclaim.\x1b[2J\u202eexit 0"
	r.Connections[2].Look.Error = "gone\r\n\nALL FINE"
	text := table(t, r)
	for _, forged := range []string{"\n0 to reclaim", "\x1b", "\u202e", "\r", "\nALL FINE"} {
		if strings.Contains(text, forged) {
			t.Errorf("the table holds %q:\n%s", forged, text)
		}
	}
}

func TestEverythingToBeReclaimedIsListedAndTheRestIsBounded(t *testing.T) {
	r := planned()
	c := &r.Connections[1]
	for n := range 500 {
		c.Verdicts = append(c.Verdicts, dead(fmt.Sprintf("go-%03d", n), "expired", time.Hour, ""))
		kept := dead(fmt.Sprintf("keep-%03d", n), "expired", time.Hour, "")
		kept.Mode = verdict.Report
		c.Verdicts = append(c.Verdicts, kept)
		young := dead(fmt.Sprintf("young-%03d", n), "expired", time.Minute, "")
		young.Outcome = verdict.Suspected
		c.Verdicts = append(c.Verdicts, young)
	}
	text := table(t, r)
	if n := strings.Count(text, "lab#go-"); n != 500 {
		t.Errorf("%d of 500 are listed", n)
	}
	for _, bounded := range []string{"lab#keep-", "lab#young-"} {
		if n := strings.Count(text, bounded); n == 0 || n >= 50 {
			t.Errorf("%d of %s are listed", n, bounded)
		}
	}
	if n := strings.Count(text, "--output json lists them all"); n != 2 {
		t.Errorf("%d sections say that there are more", n)
	}
}

func TestCommandsNameTheConnectionAsItIsCalled(t *testing.T) {
	r := report.New(planned(), "janitor --config janitor.yaml")
	var commands []string
	for _, need := range r.NeedsYou {
		commands = append(commands, need.Command)
	}
	want := []string{
		"janitor --config janitor.yaml retry 'modal-prod#sb-01J9K'",
		"janitor --config janitor.yaml explain 'modal-prod#sb-01JAA'",
		"",
		"",
		"janitor --config janitor.yaml sweep local:///srv/sandboxes --accept 3f2a9c0d1e2b4a5c",
	}
	if diff := cmp.Diff(want, commands); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHandleCannotSmuggleACommandIntoTheOneToCopy(t *testing.T) {
	r := planned()
	r.Connections[0].Verdicts[0].Handle = "sb'; rm -rf / #"
	command := report.New(r, "janitor").NeedsYou[0].Command
	if want := `janitor retry 'modal-prod#sb'\''; rm -rf / #'`; command != want {
		t.Errorf("%s, want %s", command, want)
	}
}

func TestAnEmptiedPlaceIsSaidToBeSoAndNeedsNobody(t *testing.T) {
	r := planned()
	c := &r.Connections[1]
	c.Counts, c.Airflow, c.Emptied = janitor.Counts{}, nil, true
	c.Refused = []string{"nothing is listed where 3 stood at the last complete look; a second look will believe it"}
	r.Connections = r.Connections[1:2]
	golden(t, "emptied.txt", table(t, r))
	if made := report.New(r, "janitor"); made.Summary.Emptied != 1 || len(made.NeedsYou) != 0 {
		t.Errorf("emptied %d, needs %v", made.Summary.Emptied, made.NeedsYou)
	}
	c.Refused = append(c.Refused, "the clock is wrong")
	if made := report.New(r, "janitor"); made.Summary.Emptied != 0 || len(made.NeedsYou) != 2 {
		t.Errorf("with another refusal: emptied %d, needs %v", made.Summary.Emptied, made.NeedsYou)
	}
}
