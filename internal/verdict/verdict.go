// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package verdict is the janitor's judgement: from what one look at a place
// learned, it says what is to be reclaimed and on what evidence. It is pure: no
// I/O, no clock, the same facts in any order give the same plan, and fewer facts
// never give one deletion more. Each reason to reclaim is one file and one line
// in rules.
package verdict

import (
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Key names one thing the janitor may judge. Sandboxes and leftovers are told
// apart, so that neither ever inherits what is remembered of the other.
type Key struct {
	sandbox.Ref

	Leftover bool `json:"leftover,omitempty"`
}

// Subject is one thing to judge: a sandbox or a leftover, exactly one of the two.
type Subject struct {
	Sandbox  *sandbox.Sandbox
	Leftover *sandbox.Leftover
}

// Key returns the subject's key.
func (s Subject) Key() Key {
	if s.Leftover != nil {
		return Key{Ref: s.Leftover.Ref, Leftover: true}
	}
	return Key{Ref: s.Sandbox.Ref}
}

// Facts are all that one look at one place learned, and what is remembered of it.
type Facts struct {
	Now      time.Time
	LastLook time.Time // the clock at the look before; zero: none is remembered
	// LookBegan is the clock at the look that a later read belongs to; zero: this
	// is the look.
	LookBegan time.Time

	// Place is who answers, and LastPlace who did at the look before; empty: not
	// known. What is remembered of one place says nothing about another.
	Place, LastPlace string

	Complete   bool   // every listing ended without an error
	ClockDoubt string // why no time may be believed; empty: the clock is sane
	ServerEnds bool   // the backend gives every sandbox an end; one without is in doubt

	// Subjects may leave out what was judged Alive, Protected, Foreign or Ended,
	// unless it has a mark.
	Subjects  []Subject
	Listed    int                 // sandboxes that were seen, Subjects or not
	Leftovers int                 // leftovers that were seen
	LastCount int                 // sandboxes of the last complete look that should still stand
	InUse     map[string]struct{} // host paths that listed sandboxes use
	Airflow   Testimony
	Marks     Marks
}

// Evidence is one fact a person can check: "expiry", "12:40:00", "tag airflow_expires_at".
type Evidence struct {
	Fact   string `json:"fact"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// Outcome is what a verdict comes to.
type Outcome int

// The outcomes. Only Condemned is ever touched.
const (
	Alive       Outcome = iota // no reason holds
	Ended                      // the backend only remembers it
	Protected                  // somebody keeps it, whatever the reasons
	Foreign                    // bears neither Airflow's tags nor ours
	Unheard                    // taken for alive, because its Airflow does not tell; Doubt says why
	Unjudged                   // something cannot be read or believed; Doubt says what
	Suspected                  // a reason holds, but not long enough; Ripe says when
	BackingOff                 // was asked to go before; Ripe says when to ask again
	Quarantined                // was asked to go MaxAttempts times; a person is needed
	Condemned                  // to be reclaimed, or its claim released, now
)

var outcomeNames = [...]string{
	"alive", "ended", "protected", "foreign", "unheard", "unjudged", "suspected", "backing off", "quarantined", "condemned",
}

// String returns the outcome's lower-case words.
func (o Outcome) String() string { return outcomeNames[o] }

// MarshalText writes the outcome as its words.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Verdict is what was decided about one subject, and why.
type Verdict struct {
	Key

	Outcome  Outcome    `json:"outcome"`
	Reason   Reason     `json:"reason,omitempty"`
	Mode     Mode       `json:"mode"`            // Report: a person is told, nothing is touched
	Act      Act        `json:"act,omitzero"`    // what is done once it is Condemned; absent: destroy
	Claim    Claim      `json:"claim,omitzero"`  // to be taken off, where Act is Release
	Dated    bool       `json:"dated"`           // the proof bears its own date; false: our marks or Airflow's word date it
	Since    time.Time  `json:"since,omitzero"`  // dead since
	Ripe     time.Time  `json:"ripe,omitzero"`   // from when it may be reclaimed, or asked again
	Owner    string     `json:"owner,omitempty"` // the tag airflow_owner
	Evidence []Evidence `json:"evidence,omitempty"`
	Doubt    string     `json:"doubt,omitempty"` // why it was not judged, what protects it, or what is not known of what is alive
	Attempts int        `json:"attempts,omitempty"`
	Error    string     `json:"error,omitempty"` // of the last attempt
}

// Plan is what is to be done at one place.
type Plan struct {
	Verdicts []Verdict // of every subject, oldest proof first, ties by key
	Emptied  bool      // nothing is listed any more: a second look will believe it, and until then it is Refused
	Refused  []string  // breakers that tripped: nothing is touched here
	Token    string    // names exactly what a person may let pass: another place, or the set that the share breaker counts; empty: nothing
}

// Condemned returns the verdicts to carry out, in order: none where a breaker
// tripped, and only those of rules that are enforced.
func (p Plan) Condemned() []Verdict {
	if len(p.Refused) > 0 {
		return nil
	}
	var condemned []Verdict
	for _, v := range p.Verdicts {
		if v.Outcome == Condemned && v.Mode == Enforce {
			condemned = append(condemned, v)
		}
	}
	return condemned
}
