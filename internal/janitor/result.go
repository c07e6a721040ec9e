// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Exit is how a run ended, as the process's exit status says it.
type Exit int

// The exits of a run. The worst applies, in the order Busy, Unreadable,
// Refused, Partial, Clean.
const (
	ExitClean      Exit = 0
	ExitPartial    Exit = 2 // a look failed or was incomplete, an Airflow was not heard, something failed or needs a person
	ExitRefused    Exit = 3 // a breaker tripped
	ExitUnreadable Exit = 5 // no connection could be read at all
	ExitBusy       Exit = 75
)

// Result is everything a run learned and did.
type Result struct {
	RunID       string             `json:"run_id"`
	Started     time.Time          `json:"started"`
	Ended       time.Time          `json:"ended"`
	Acted       bool               `json:"acted"`             // false: a plan, nothing was changed
	Stopped     bool               `json:"stopped"`           // the context ended before the work
	Busy        *Run               `json:"busy,omitempty"`    // the run that holds the document
	Unsaved     string             `json:"unsaved,omitempty"` // why the outcomes could not be saved; the next run reads them again
	Connections []ConnectionResult `json:"connections"`       // as Options.Connections
	Exit        Exit               `json:"exit"`
}

// ConnectionResult is one connection's part of a Result.
type ConnectionResult struct {
	Name     string            `json:"name"`
	Scope    string            `json:"scope"`
	Look     Look              `json:"look"`
	Airflow  *Hearing          `json:"airflow,omitempty"` // nil: none is named for it
	Counts   Counts            `json:"counts"`
	Verdicts []verdict.Verdict `json:"verdicts"` // all but the plainly alive, protected, foreign and ended, and the unheard of an Airflow that is not heard at all; those of another Airflow are alive with a doubt; oldest first
	Refused  []string          `json:"refused,omitempty"`
	Emptied  bool              `json:"emptied,omitempty"` // refused because nothing is listed any more, see verdict.Plan
	Token    string            `json:"token,omitempty"`   // passes the share breaker once, see verdict.Plan
	Actions  []Action          `json:"actions,omitempty"`
	OverCap  int               `json:"over_cap"` // condemned, and left to the next run because this one may do no more
	// OldestLeak is since when the oldest thing that is dead beyond its grace,
	// and still there, is dead; zero: none.
	OldestLeak time.Time `json:"oldest_leak,omitzero"`
}

// Look is how one connection was looked at.
type Look struct {
	Complete     bool          `json:"complete"`
	Took         time.Duration `json:"took_nanoseconds"`
	Error        string        `json:"error,omitempty"` // why it is not complete
	Nothing      bool          `json:"nothing"`         // not one record could be read
	LastComplete time.Time     `json:"last_complete,omitzero"`
}

// Hearing is how the Airflow of one connection was asked.
type Hearing struct {
	Name      string    `json:"name"`
	Asked     int       `json:"asked"`           // runs and tasks; 0: only whether it can be asked
	Error     string    `json:"error,omitempty"` // why nothing that it says is believed
	LastHeard time.Time `json:"last_heard,omitzero"`
}

// Counts say what became of everything listed.
type Counts struct {
	Listed    int `json:"listed"` // sandboxes and leftovers
	Alive     int `json:"alive"`
	Unheard   int `json:"unheard"` // of the alive: its Airflow is another, or does not tell
	Ended     int `json:"ended"`   // only remembered by the backend
	Protected int `json:"protected"`
	Foreign   int `json:"foreign"`
	Reclaim   int `json:"reclaim"`   // condemned, and the rule is enforced
	Release   int `json:"release"`   // likewise, and only the claim goes
	Report    int `json:"report"`    // condemned, but the rule only reports
	Later     int `json:"later"`     // suspected or backing off
	NeedsYou  int `json:"needs_you"` // unjudged or quarantined
}

// ActionResult is what came of one attempt to reclaim, or of looking after an
// earlier one.
type ActionResult string

// The results of an action.
const (
	Reclaimed ActionResult = "reclaimed" // absent by id; said once
	Vanished  ActionResult = "vanished"  // absent, or ended, before it was ever asked to go
	Asked     ActionResult = "asked"     // accepted, still there: the next run confirms
	Released  ActionResult = "released"  // the claim is off, and its task was over before and after
	Restored  ActionResult = "restored"  // the claim was off, and stands again: its task came back, or may have
	Spared    ActionResult = "spared"    // the fresh read contradicted the listing
	Failed    ActionResult = "failed"
	Postponed ActionResult = "postponed" // chosen, but the deadline or a stop came first
)

// Action is one attempt to reclaim or to release, or what came of an earlier one.
type Action struct {
	verdict.Key

	Act     verdict.Act    `json:"act,omitzero"` // absent: destroy
	Reason  verdict.Reason `json:"reason"`
	Result  ActionResult   `json:"result"`
	At      time.Time      `json:"at"`
	Attempt int            `json:"attempt,omitempty"`
	Detail  string         `json:"detail,omitempty"` // what a person should know
}

// Judged returns the verdict that led to an action of this connection, or nil:
// a confirmation may be of something that this look did not see.
func (c ConnectionResult) Judged(a Action) *verdict.Verdict {
	for i := range c.Verdicts {
		if c.Verdicts[i].Key == a.Key {
			return &c.Verdicts[i]
		}
	}
	return nil
}
