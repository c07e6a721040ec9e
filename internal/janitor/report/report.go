// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package report tells people and programs what a janitor run learned and did:
// a table of at most 100 columns for a terminal, or one JSON document. Both are
// made from the same Report, in the order of the run's result.
package report

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Schema is the version of the JSON document. It grows with a change that a
// reader of the former one could misread; new fields do not change it.
const Schema = 1

// Report is one run, with what a person asks first.
type Report struct {
	Schema   int     `json:"schema"`
	Summary  Summary `json:"summary"`
	NeedsYou []Need  `json:"needs_you"`

	janitor.Result
}

// Summary counts over all connections.
type Summary struct {
	Reclaim      int     `json:"reclaim"`       // condemned, and nothing stands in the way
	Release      int     `json:"release"`       // likewise, but only a claim goes
	SandboxHours float64 `json:"sandbox_hours"` // how long those to reclaim have been dead, together
	Refused      int     `json:"refused"`       // condemned, and a breaker stands in the way
	Report       int     `json:"report"`        // condemned by a rule that only reports
	Later        int     `json:"later"`         // suspected or backing off
	Emptied      int     `json:"emptied"`       // places where nothing is listed any more, which a second look believes
	NeedsYou     int     `json:"needs_you"`

	Reclaimed int `json:"reclaimed"`
	Vanished  int `json:"vanished"`
	Released  int `json:"released"`
	Restored  int `json:"restored"`
	Asked     int `json:"asked"`
	Spared    int `json:"spared"`
	Failed    int `json:"failed"`
	Postponed int `json:"postponed"`
	OverCap   int `json:"over_cap"` // left to the next run

	OldestLeakSeconds float64 `json:"oldest_leak_seconds"` // 0: none
}

// Need is one thing that only a person can settle.
type Need struct {
	Connection string    `json:"connection"`
	Handle     string    `json:"handle,omitempty"` // empty: the connection as a whole
	What       string    `json:"what"`
	Since      time.Time `json:"since,omitzero"` // dead since; of a connection: the last complete look; of its Airflow: the last answer
	Why        string    `json:"why"`
	Command    string    `json:"command,omitempty"` // what to run next
}

// New makes the report of a result. program begins the commands in it, such as
// "janitor --config janitor.yaml".
func New(result janitor.Result, program string) Report {
	r := Report{Schema: Schema, NeedsYou: []Need{}, Result: result}
	var oldest time.Time
	for _, c := range result.Connections {
		r.NeedsYou = append(r.NeedsYou, needs(c, program)...)
		r.count(c)
		if !c.OldestLeak.IsZero() && (oldest.IsZero() || c.OldestLeak.Before(oldest)) {
			oldest = c.OldestLeak
		}
	}
	r.Summary.NeedsYou = len(r.NeedsYou)
	if !oldest.IsZero() {
		r.Summary.OldestLeakSeconds = result.Ended.Sub(oldest).Seconds()
	}
	return r
}

func (r *Report) count(c janitor.ConnectionResult) {
	r.Summary.Later += c.Counts.Later
	r.Summary.OverCap += c.OverCap
	if settlesItself(c) {
		r.Summary.Emptied++
	}
	for _, v := range c.Verdicts {
		switch {
		case v.Outcome != verdict.Condemned:
		case v.Mode == verdict.Report:
			r.Summary.Report++
		case len(c.Refused) > 0:
			r.Summary.Refused++
		case v.Act == verdict.Release:
			r.Summary.Release++
		default:
			r.Summary.Reclaim++
			if !v.Since.IsZero() {
				r.Summary.SandboxHours += r.Ended.Sub(v.Since).Hours()
			}
		}
	}
	for _, a := range c.Actions {
		switch a.Result {
		case janitor.Reclaimed:
			r.Summary.Reclaimed++
		case janitor.Vanished:
			r.Summary.Vanished++
		case janitor.Released:
			r.Summary.Released++
		case janitor.Restored:
			r.Summary.Restored++
		case janitor.Asked:
			r.Summary.Asked++
		case janitor.Spared:
			r.Summary.Spared++
		case janitor.Failed:
			r.Summary.Failed++
		case janitor.Postponed:
			r.Summary.Postponed++
		}
	}
}

// unheard is what a Need is where an Airflow is not heard.
const unheard = "unheard"

// needs lists what a person must settle at one connection, and how.
func needs(c janitor.ConnectionResult, program string) []Need {
	var all []Need
	if c.Look.Error != "" {
		all = append(all, Need{Connection: c.Name, What: "look failed", Since: c.Look.LastComplete, Why: c.Look.Error})
	}
	if c.Airflow != nil && c.Airflow.Error != "" {
		all = append(all, Need{Connection: c.Name, What: unheard, Since: c.Airflow.LastHeard, Why: c.Airflow.Error})
	}
	for _, why := range c.Refused {
		if settlesItself(c) {
			break
		}
		need := Need{Connection: c.Name, What: "refused", Why: why}
		if c.Token != "" {
			need.Command = program + " sweep " + selecting(c.Name) + " --accept " + c.Token
		}
		all = append(all, need)
	}
	for _, v := range c.Verdicts {
		id := c.Name + "#" + v.Handle
		switch v.Outcome {
		case verdict.Quarantined:
			all = append(all, Need{
				Connection: c.Name, Handle: v.Handle, What: "quarantined", Since: v.Since,
				Why: attempts(v), Command: program + " retry " + Quote(id),
			})
		case verdict.Unjudged:
			all = append(all, Need{
				Connection: c.Name, Handle: v.Handle, What: "not judged", Since: v.Since,
				Why: v.Doubt, Command: program + " explain " + Quote(id),
			})
		}
	}
	return all
}

// settlesItself reports whether a refusal needs nobody but a second look.
func settlesItself(c janitor.ConnectionResult) bool { return c.Emptied && len(c.Refused) == 1 }

func attempts(v verdict.Verdict) string {
	why := fmt.Sprintf("%s %d times", tried(v.Act), v.Attempts)
	if v.Error != "" {
		why += ", last: " + v.Error
	}
	return why
}

func tried(act verdict.Act) string {
	if act == verdict.Release {
		return "its claim was to be released"
	}
	return "asked to go"
}

// selecting returns the arguments that name one connection: one that no file
// names is called by its URI.
func selecting(name string) string {
	if strings.Contains(name, ":") {
		return Quote(name)
	}
	return "--connection " + name
}

// Quote makes one shell word of s, and leaves alone what is one: a handle is a
// vendor's word and may hold what a shell would obey.
func Quote(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9._/:-]+$`)
