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
	return report.NewExplanation(janitor.Explanation{Explanation: e, Connection: "lab", Scope: "local:"}, noon, "janitor")
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
		verdict.BackingOff:  {func(e *verdict.Explanation) { e.Attempts, e.Error, e.Ripe = 2, "503", time.Time{} }, "Asked to go 2 of 5 times, last: 503. Asked again at a later look."},
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
