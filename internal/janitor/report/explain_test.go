// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/report"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

func explained(change func(*verdict.Explanation)) report.Explanation {
	v := dead("sb-1", "expired", 47*time.Minute, "etl/run")
	e := verdict.Explanation{Verdict: v, Checks: []verdict.Check{
		{Reason: "expired", Holds: verdict.Yes, Mode: verdict.Enforce, Evidence: v.Evidence},
		{Reason: "failed_teardown", Holds: verdict.Unknown, Mode: verdict.Enforce, Doubt: "the tag taskowned_teardown_at reads \"soon\""},
		{Reason: "orphaned_workspace", Holds: verdict.No, Mode: verdict.Report},
	}}
	change(&e)
	return report.NewExplanation(janitor.Explanation{Explanation: e, Connection: "lab", Scope: "local:"}, noon, "local:///srv", "janitor")
}

func TestExplanationSaysWhatCountsForAndAgainst(t *testing.T) {
	var text, json bytes.Buffer
	e := explained(func(*verdict.Explanation) {})
	if err := e.Table(&text); err != nil {
		t.Fatal(err)
	}
	if err := e.JSON(&json); err != nil {
		t.Fatal(err)
	}
	golden(t, "explain.txt", text.String())
	golden(t, "explain.json", json.String())
}

func TestEveryOutcomeIsExplained(t *testing.T) {
	for outcome, c := range map[verdict.Outcome]struct {
		change func(*verdict.Explanation)
		want   string
	}{
		verdict.Alive:       {nil, "lab#sb-1: alive"},
		verdict.Ended:       {nil, "only remembers it"},
		verdict.Protected:   {func(e *verdict.Explanation) { e.Doubt = "protect.handles names lab#sb-1" }, "protected: protect.handles names lab#sb-1."},
		verdict.Foreign:     {nil, "never touched"},
		verdict.Unjudged:    {func(e *verdict.Explanation) { e.Doubt = "its record cannot be read" }, "not judged: its record cannot be read. Nothing happens to it."},
		verdict.Suspected:   {func(e *verdict.Explanation) { e.Ripe = noon.Add(3 * time.Minute) }, "Ripe in 3m, at 2026-11-30 12:03:00 UTC."},
		verdict.BackingOff:  {func(e *verdict.Explanation) { e.Attempts, e.Error, e.Ripe = 2, "503", time.Time{} }, "Asked to go 2 of 5 times, last: 503. Tried again at a later look."},
		verdict.Unheard:     {func(e *verdict.Explanation) { e.Doubt = "Airflow prod cannot tell of its run: 404" }, "taken for alive: Airflow prod cannot tell of its run: 404."},
		verdict.Quarantined: {func(e *verdict.Explanation) { e.Attempts = 5 }, "then `janitor retry 'lab#sb-1'`"},
		verdict.Condemned:   {func(e *verdict.Explanation) { e.Mode = verdict.Report }, "Only reported"},
	} {
		e := explained(func(e *verdict.Explanation) {
			e.Outcome = outcome
			if c.change != nil {
				c.change(e)
			}
		})
		var text bytes.Buffer
		if err := e.Table(&text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q does not say %q", outcome, got, c.want)
		}
	}
}

func TestAReleaseIsExplainedAsOne(t *testing.T) {
	e := explained(func(e *verdict.Explanation) { e.Act, e.Reason = verdict.Release, "stale_holder" })
	var text bytes.Buffer
	if err := e.Table(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Its task is over since 2026-11-30 11:13:00 UTC (47m).", "releases the claim, and destroys nothing."} {
		if got := strings.Join(strings.Fields(text.String()), " "); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
}

func TestExplanationSaysWhatCanBeDoneAboutEachKindOfThing(t *testing.T) {
	for name, c := range map[string]struct {
		connection string
		change     func(*verdict.Explanation)
		want       string
	}{
		"sandbox of a named place":    {"lab", nil, `To keep it: set its tag taskowned_protect, or put "lab#sb-1" under protect.handles.`},
		"leftover of a named place":   {"lab", func(e *verdict.Explanation) { e.Leftover = true }, `To keep it: put "lab#sb-1" under protect.handles.`},
		"sandbox of a URI":            {"local:", nil, "To keep it: set its tag taskowned_protect, or name its place in a configuration that protects it."},
		"leftover of a URI":           {"local:", func(e *verdict.Explanation) { e.Leftover = true }, `put "NAME#sb-1" under protect.handles there.`},
		"stale claim":                 {"lab", func(e *verdict.Explanation) { e.Act = verdict.Release }, `To keep the claim: set its tag taskowned_protect, or put "lab#sb-1" under protect.handles.`},
		"unreadable sandbox":          {"lab", func(e *verdict.Explanation) { e.Outcome, e.Reason = verdict.Unjudged, "" }, "Repair its record, or remove it by hand when nothing in it is needed. All that is known of it: → sandbox show local:///srv sb-1"},
		"sandbox with an unknown tag": {"lab", func(e *verdict.Explanation) { e.Outcome = verdict.Unjudged }, "Settle what is unknown above, or destroy it when it is not needed: → sandbox rm local:///srv sb-1"},
		"leftover nobody can judge":   {"lab", func(e *verdict.Explanation) { e.Outcome, e.Leftover = verdict.Unjudged, true }, "or remove it by hand when nothing in it is needed."},
	} {
		e := explained(func(e *verdict.Explanation) {
			if c.change != nil {
				c.change(e)
			}
		})
		e.Connection = c.connection
		var text bytes.Buffer
		if err := e.Table(&text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(text.String()), " "); !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: %q does not end with %q", name, got, c.want)
		}
	}
	alive := explained(func(e *verdict.Explanation) { e.Outcome = verdict.Alive })
	var text bytes.Buffer
	if err := alive.Table(&text); err != nil || strings.Contains(text.String(), "To keep it") {
		t.Errorf("alive: %v\n%s", err, &text)
	}
}
