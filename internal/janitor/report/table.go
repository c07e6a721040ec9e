// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// maxListed bounds the sections in which nothing is destroyed; JSON has all.
const maxListed = 20

// Table writes the report for a terminal. What is or was reclaimed is listed
// to the last line, everything else up to a bound.
func (r Report) Table(w io.Writer) error {
	var t table
	if r.Busy != nil {
		t.text("", fmt.Sprintf("Busy: the run %s on %s holds the state until %s. Nothing was changed. exit %d",
			r.Busy.ID, r.Busy.Host, stamp(r.Busy.Until), r.Exit))
		_, err := t.WriteTo(w)
		return err
	}
	r.looks(&t)
	if r.Acted {
		r.actions(&t)
	} else {
		r.condemned(&t, "RECLAIM", 0, func(c janitor.ConnectionResult, v verdict.Verdict) bool {
			return v.Mode == verdict.Enforce && len(c.Refused) == 0
		})
	}
	r.condemned(&t, "REFUSED", maxListed, func(c janitor.ConnectionResult, v verdict.Verdict) bool {
		return v.Mode == verdict.Enforce && len(c.Refused) > 0
	})
	r.condemned(&t, "REPORTED ONLY", maxListed, func(_ janitor.ConnectionResult, v verdict.Verdict) bool {
		return v.Mode == verdict.Report
	})
	r.later(&t)
	r.unheard(&t)
	r.needsYou(&t)
	t.line("")
	t.text("", r.sentence())
	_, err := t.WriteTo(w)
	return err
}

// looks is the first section: each connection in one row.
func (r Report) looks(t *table) {
	rows := [][]string{{"CONNECTION", "LOOK", ">LISTED", ">ALIVE", ">PROTECTED", ">RECLAIM", ">LATER", ">NEEDS YOU"}}
	for _, c := range r.Connections {
		needed := 0
		for _, need := range r.NeedsYou {
			if need.Connection == c.Name {
				needed++
			}
		}
		row := []string{c.Name, look(c.Look)}
		if c.Look.Nothing && c.Counts.Listed == 0 {
			row = append(row, ">-", ">-", ">-", ">-", ">-")
		} else {
			for _, n := range []int{c.Counts.Listed, c.Counts.Alive, c.Counts.Protected, c.Counts.Reclaim, c.Counts.Later} {
				row = append(row, ">"+thousands(n))
			}
		}
		rows = append(rows, append(row, ">"+thousands(needed)))
	}
	for i, line := range align(rows) {
		t.line(line)
		if i > 0 {
			t.text("  ", others(r.Connections[i-1]))
		}
	}
}

func look(l janitor.Look) string {
	switch {
	case l.Complete:
		return fmt.Sprintf("complete %.1fs", l.Took.Seconds())
	case l.Nothing:
		return "FAILED"
	default:
		return "INCOMPLETE"
	}
}

// others says what the columns leave out.
func others(c janitor.ConnectionResult) string {
	var parts []string
	if n := c.Counts.Report; n > 0 {
		parts = append(parts, thousands(n)+" only reported")
	}
	if n := c.Counts.Release; n > 0 {
		parts = append(parts, count(n, "claim", "claims")+" to release")
	}
	if n := c.Counts.Unheard; n > 0 {
		parts = append(parts, thousands(n)+" alive of which Airflow does not tell")
	}
	if n := c.Counts.Foreign; n > 0 {
		parts = append(parts, thousands(n)+" of others, never touched")
	}
	if n := c.Counts.Ended; n > 0 {
		parts = append(parts, thousands(n)+" ended already")
	}
	if settlesItself(c) {
		parts = append(parts, c.Refused...)
	}
	return strings.Join(parts, "; ")
}

// condemned is one section of condemned things, at most limit of them; 0: all.
func (r Report) condemned(t *table, title string, limit int, in func(janitor.ConnectionResult, verdict.Verdict) bool) {
	s := section{head: []string{title, "ACT", "REASON", "DEAD FOR", "OWNER"}, limit: limit}
	for _, c := range r.Connections {
		for _, v := range c.Verdicts {
			if v.Outcome == verdict.Condemned && in(c, v) {
				s.add(evidence(v.Evidence), c.Name+"#"+v.Handle, v.Act.String(), string(v.Reason), since(v.Since, r.Ended), dash(v.Owner))
			}
		}
	}
	s.write(t)
}

// actions is the section of what a sweep did.
func (r Report) actions(t *table) {
	s := section{head: []string{"DONE", "RESULT", "REASON", "DEAD FOR", "OWNER"}}
	for _, c := range r.Connections {
		for _, a := range c.Actions {
			dead, owner, details := "-", "-", []string{}
			if v := c.Judged(a); v != nil {
				dead, owner = since(v.Since, r.Ended), dash(v.Owner)
				details = append(details, evidence(v.Evidence))
			}
			if a.Detail != "" {
				details = append(details, a.Detail)
			}
			s.add(strings.Join(details, "; "), c.Name+"#"+a.Handle, string(a.Result), string(a.Reason), dead, owner)
		}
	}
	s.write(t)
}

func (r Report) needsYou(t *table) {
	s := section{head: []string{"NEEDS YOU", "WHAT", "SINCE"}, limit: maxListed}
	for _, need := range r.NeedsYou {
		id := need.Connection
		if need.Handle != "" {
			id += "#" + need.Handle
		}
		s.addWithCommand(need.Why, need.Command, id, need.What, ago(need, r.Ended))
	}
	s.write(t)
}

func ago(need Need, now time.Time) string {
	if need.What == unheard && !need.Since.IsZero() {
		return "last answer " + since(need.Since, now) + " ago"
	}
	if need.Handle == "" && !need.Since.IsZero() {
		return "last complete look " + since(need.Since, now) + " ago"
	}
	return since(need.Since, now)
}

// evidence is what a person can check, in one line.
func evidence(all []verdict.Evidence) string {
	var parts []string
	for _, e := range all {
		part := e.Fact + " " + e.Value
		if e.Source != "" {
			part += " (" + e.Source + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// sentence is the last line: the one that is read.
func (r Report) sentence() string {
	s := r.Summary
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, thousands(n)+" "+what)
		}
	}
	if r.Acted {
		parts = append(parts, thousands(s.Reclaimed)+" reclaimed")
		if s.Released > 0 {
			parts = append(parts, count(s.Released, "claim", "claims")+" released")
		}
		add(s.Restored, "put back because a task may live")
		add(s.Asked, "asked to end, to be confirmed by the next run")
		add(s.Vanished, "gone already")
		add(s.Failed, "failed")
		add(s.Spared, "spared on a second look")
		add(s.Postponed, "postponed")
		add(s.OverCap, "left to the next run by deletes_per_run")
	} else {
		parts = append(parts, thousands(s.Reclaim)+" to reclaim")
		if s.Reclaim > 0 {
			parts[0] += fmt.Sprintf(" (%s sandbox-hours)", hours(s.SandboxHours))
		}
		if s.Release > 0 {
			parts = append(parts, count(s.Release, "claim", "claims")+" to release")
		}
	}
	add(s.Refused, "refused")
	add(s.Report, "only reported")
	add(s.Later, "later")
	add(s.Emptied, "emptied, to be believed at a second look")
	if s.NeedsYou == 1 {
		add(1, "needs you")
	} else {
		add(s.NeedsYou, "need you")
	}
	text := strings.Join(parts, ", ") + "."
	if !r.Acted {
		text += " Nothing was changed."
		if s.Emptied > 0 {
			text += " Only the looks of sweeps are remembered."
		}
	}
	if r.Stopped {
		text += " Stopped before the end."
	}
	if r.Unsaved != "" {
		text += " The outcomes could not be saved (" + r.Unsaved + "); the next run looks again."
	}
	if s.OldestLeakSeconds > 0 {
		text += " Oldest leak " + cli.Age(time.Duration(s.OldestLeakSeconds*float64(time.Second))) + "."
	}
	return text + " exit " + strconv.Itoa(int(r.Exit))
}

// table gathers lines.
type table struct{ bytes.Buffer }

func (t *table) line(s string) { t.WriteString(strings.TrimRight(s, " ") + "\n") }

// text writes s, wrapped and indented; nothing when there is none.
func (t *table) text(indent, s string) {
	for _, line := range wrap(clean(s), maxColumns-len(indent)) {
		t.line(indent + line)
	}
}
