// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"slices"
	"time"
)

// Reason is why something is to be reclaimed, in the one word that configuration,
// reports and logs have for it.
type Reason string

// Truth is the answer of a rule. The zero value is No.
type Truth int

// The truths. Unknown never destroys.
const (
	No Truth = iota
	Unknown
	Yes
)

var truthNames = [...]string{"no", "unknown", "yes"}

// String returns the truth's lower-case word.
func (t Truth) String() string { return truthNames[t] }

// MarshalText writes the truth as its word.
func (t Truth) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Finding is what one rule says of one subject.
type Finding struct {
	Holds Truth
	// Since is the proof's own date, from which the grace is counted.
	Since time.Time
	// Marked means that Since proves nothing alone: the mark must be as old as
	// the grace too, and two complete looks must agree.
	Marked bool
	// Dated means that, Marked or not, Since was written down for this subject;
	// the share breaker has no guess to stop. What is not Marked is Dated.
	Dated    bool
	Evidence []Evidence
	Doubt    string // why the answer is Unknown
}

// Precondition is what a rule cannot do without. Unmet, it holds for nothing.
type Precondition int

// The preconditions.
const (
	Complete Precondition = 1 << iota // a complete look
	Clock                             // a clock that can be believed
)

// Mode says whether a reason only is reported or acts. The zero value is the
// weaker, and of several the weaker wins.
type Mode int

// The modes.
const (
	Report Mode = iota
	Enforce
)

// String returns the mode as the configuration spells it.
func (m Mode) String() string {
	if m == Enforce {
		return "enforce"
	}
	return "report"
}

// MarshalText writes the mode as the configuration spells it.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Rule is one reason to reclaim.
type Rule struct {
	Reason Reason
	Needs  Precondition
	Mode   Mode          // unless the policy says otherwise
	Grace  time.Duration // unless the policy says otherwise
	// Managed allows the rule to take a sandbox that Terraform manages.
	Managed bool
	Judge   func(Subject, *Facts) Finding
}

// rules are all reasons, in order of precedence.
var rules = []Rule{expired, failedTeardown, retired, orphanedWorkspace}

// Rules returns every reason to reclaim, in order of precedence.
func Rules() []Rule { return slices.Clone(rules) }
