// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"slices"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
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
	// Since is the proof's own date, from which the grace is counted; zero: the
	// mark dates it.
	Since time.Time
	// Looks is what earlier looks must have seen besides.
	Looks Looks
	// Undated means that Since was not written down for this subject, or that
	// somebody else's word is the proof: the share breaker counts it.
	Undated  bool
	Claim    Claim // what a rule about Airflow holds for
	Evidence []Evidence
	Doubt    string // why the answer is Unknown, or why No is no proof of life

	// asks is what Airflow must be asked before the rule can tell.
	asks airflow.Questions
}

// Looks is how far earlier complete looks must agree with a proof.
type Looks int

// The looks.
const (
	NoLook        Looks = iota // the proof stands alone
	OneLook                    // one did
	AllGraceLooks              // for the whole grace, every one did
)

// Precondition is what a rule cannot do without. Unmet, it holds for nothing.
type Precondition int

// The preconditions.
const (
	Complete Precondition = 1 << iota // a complete look
	Clock                             // a clock that can be believed
	Airflow                           // the word of the sandbox's own Airflow deployment
)

// Act is what is done about what a rule holds for.
type Act int

// The acts.
const (
	Destroy Act = iota // the sandbox or leftover goes
	Release            // only the claim on the sandbox goes, see Claim
)

var actNames = [...]string{"destroy", "release"}

// String returns the act's verb.
func (a Act) String() string { return actNames[a] }

// MarshalText writes the act as its verb.
func (a Act) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// Claim is a task's hold on a sandbox, and the end of it that Airflow told. Of a
// finished owner it is the run's end, too: a run that has lived since has another;
// and where nobody holds the sandbox, only that.
type Claim struct {
	Holder string `json:"holder,omitempty"` // the tag airflow_holder, byte for byte
	Try    int    `json:"try,omitempty"`    // the number of the task's try that ended
	Ended  string `json:"ended,omitempty"`  // by Airflow's clock; empty: it does not say
}

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
	Act    Act
	// Managed allows the rule to act on a sandbox that Terraform manages: on the
	// dates that Terraform wrote, or to release a claim. Nothing else destroys it.
	Managed bool
	Judge   func(Subject, *Facts) Finding
}

// rules are all reasons, in order of precedence.
var rules = []Rule{expired, failedTeardown, retired, staleHolder, finishedOwner, orphanedWorkspace}

// NeedsAirflow reports whether the reason rests on Airflow's word.
func (r Reason) NeedsAirflow() bool {
	return slices.ContainsFunc(rules, func(rule Rule) bool { return rule.Reason == r && rule.Needs&Airflow != 0 })
}

// Rules returns every reason to reclaim, in order of precedence.
func Rules() []Rule { return slices.Clone(rules) }
