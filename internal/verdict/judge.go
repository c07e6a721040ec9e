// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// expired holds when the recorded expiry and the backend's own end are both
// past: the later of the two counts, because either may have been moved.
var expired = Rule{Reason: "expired"}

var failedTeardown = Rule{Reason: "failed_teardown"}

var orphanedWorkspace = Rule{Reason: "orphaned_workspace", Act: RemoveLeftover}

// Explanation is a verdict with everything that counted for and against it.
type Explanation struct {
	Verdict

	Protection string  `json:"protection"` // what protects it, or that nothing does
	Checks     []Check `json:"checks"`     // one of each rule, in order of precedence
}

// Check is one rule's answer.
type Check struct {
	Reason   Reason     `json:"reason"`
	Holds    Truth      `json:"holds"`
	Mode     Mode       `json:"mode"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Doubt    string     `json:"doubt,omitempty"`
}

// Judge decides about one subject: protection first, then the rules, then the
// age of its mark. It judges the listing and the fresh read before acting alike.
func Judge(s Subject, facts *Facts, policy Policy) Verdict { return Verdict{Key: s.Key()} }

// Explain judges like Judge and tells what every rule said.
func Explain(s Subject, facts *Facts, policy Policy) Explanation { return Explanation{} }

// Decide judges every subject and asks the breakers.
func Decide(facts Facts, policy Policy) Plan { return Plan{} }

// Remember returns the marks after a look and its plan.
func Remember(facts Facts, plan Plan) Marks { return facts.Marks }

var _ sandbox.Ref
