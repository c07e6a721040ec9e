// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Explanation is what counts for and against one thing at the moment Now.
type Explanation struct {
	janitor.Explanation

	Now     time.Time `json:"now"`
	uri     string
	program string
}

// NewExplanation makes the report of an explanation. uri is the connection's,
// whatever its name; program as in New.
func NewExplanation(e janitor.Explanation, now time.Time, uri, program string) Explanation {
	return Explanation{Explanation: e, Now: now, uri: uri, program: program}
}

// JSON writes the explanation as one JSON document.
func (e Explanation) JSON(w io.Writer) error {
	return cli.WriteJSON(w, struct {
		Schema int `json:"schema"`
		Explanation
	}{Schema, e})
}

// Table writes the explanation for a terminal: the verdict, what each rule says,
// and how to keep the thing.
func (e Explanation) Table(w io.Writer) error {
	var t table
	t.text("", e.id()+": "+e.headline())
	rows := [][]string{{"", "", ""}}
	for _, check := range e.Checks {
		rows = append(rows, []string{"  " + check.Holds.String(), string(check.Reason), mode(check.Mode)})
	}
	rows = append(rows, []string{"  " + yes(e.Protection != ""), "protected", ""})
	details := []string{""}
	for _, check := range e.Checks {
		details = append(details, because(check.Evidence, check.Doubt))
	}
	details = append(details, e.Protection)
	for i, line := range align(rows)[1:] {
		t.line(line)
		t.text("       ", details[i+1])
	}
	text, command := e.advice()
	t.text("", text)
	if command != "" {
		t.line("  → " + clean(command))
	}
	_, err := t.WriteTo(w)
	return err
}

func (e Explanation) id() string { return e.Connection + "#" + e.Handle }

// headline is the verdict in words.
func (e Explanation) headline() string {
	reason := string(e.Reason)
	switch e.Outcome {
	case verdict.Alive:
		return "alive; no reason to reclaim it holds."
	case verdict.Ended:
		return "ended; the backend only remembers it."
	case verdict.Protected:
		return "protected: " + e.Doubt + "."
	case verdict.Foreign:
		return "not ours; it bears neither Airflow's tags nor ours, and is never touched."
	case verdict.Unheard:
		return "taken for alive: " + e.Doubt + "."
	case verdict.Unjudged:
		return "not judged: " + e.Doubt + ". Nothing happens to it."
	case verdict.Suspected:
		return "suspected: " + reason + ". " + e.dead() + e.doubt() + "Ripe " + e.ripe() + "."
	case verdict.BackingOff:
		return fmt.Sprintf("condemned: %s. %s %d of %d times%s. Tried again %s.", reason, capital(tried(e.Act)), e.Attempts, verdict.MaxAttempts, e.last(), e.ripe())
	case verdict.Quarantined:
		return fmt.Sprintf("quarantined: %s. %s %d times%s. Settle that, then `%s retry %s`.", reason, capital(tried(e.Act)), e.Attempts, e.last(), e.program, Quote(e.id()))
	}
	goes := "Goes in the next sweep."
	if e.Act == verdict.Release {
		goes = "The next sweep releases the claim, and destroys nothing."
	}
	if e.Mode == verdict.Report {
		goes = "Only reported: enforce needs mode: enforce, the rule's own, and no --mode report."
	}
	return "condemned: " + reason + ". " + e.dead() + e.doubt() + goes
}

// advice is what a person can do about it, and the command for that, if any.
func (e Explanation) advice() (text, command string) {
	handTool := func(verb string) string {
		return fmt.Sprintf("sandbox %s %s %s", verb, Quote(e.uri), Quote(e.Handle))
	}
	switch {
	case e.Outcome < verdict.Unjudged:
		return "", ""
	case e.Outcome != verdict.Unjudged && e.Act == verdict.Release:
		return "To keep the claim: " + e.keeping() + ".", ""
	case e.Outcome != verdict.Unjudged:
		return "To keep it: " + e.keeping() + ".", ""
	case e.Leftover:
		return "Settle what keeps it from being judged, or remove it by hand when nothing in it is needed.", ""
	case e.Reason == "": // no rule was asked, for there is nothing to ask about
		return "Repair its record, or remove it by hand when nothing in it is needed. All that is known of it:", handTool("show")
	}
	return "Settle what is unknown above, or destroy it when it is not needed:", handTool("rm")
}

// keeping says how to keep a thing: a leftover has no tags, and only a place that
// a configuration names has handles to protect.
func (e Explanation) keeping() string {
	named := !strings.Contains(e.Connection, ":")
	tag := "set its tag " + sandbox.TagProtect
	switch {
	case named && e.Leftover:
		return fmt.Sprintf("put %q under protect.handles", e.id())
	case named:
		return fmt.Sprintf("%s, or put %q under protect.handles", tag, e.id())
	case e.Leftover:
		return fmt.Sprintf("name its place in a configuration, and put %q under protect.handles there", "NAME#"+e.Handle)
	}
	return tag + ", or name its place in a configuration that protects it"
}

func (e Explanation) dead() string {
	if e.Since.IsZero() {
		return ""
	}
	dead := "Dead"
	if e.Act == verdict.Release {
		dead = "Its task is over"
	}
	return fmt.Sprintf("%s since %s (%s). ", dead, stamp(e.Since), cli.Age(e.Now.Sub(e.Since)))
}

func (e Explanation) doubt() string {
	if e.Doubt == "" {
		return ""
	}
	return capital(e.Doubt) + ". "
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func (e Explanation) ripe() string {
	if e.Ripe.IsZero() {
		return "at a later look"
	}
	if e.Ripe.After(e.Now) {
		return "in " + cli.Age(e.Ripe.Sub(e.Now)) + ", at " + stamp(e.Ripe)
	}
	return "since " + stamp(e.Ripe)
}

func (e Explanation) last() string {
	if e.Error == "" {
		return ""
	}
	return ", last: " + e.Error
}

// because is the evidence and, after it, the doubt.
func because(all []verdict.Evidence, doubt string) string {
	text := evidence(all)
	if text != "" && doubt != "" {
		text += "; "
	}
	return text + doubt
}

func mode(m verdict.Mode) string {
	if m == verdict.Enforce {
		return "enforced"
	}
	return "reported"
}

func yes(b bool) string {
	if b {
		return verdict.Yes.String()
	}
	return verdict.No.String()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
