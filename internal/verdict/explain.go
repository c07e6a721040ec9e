// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

// Explanation is a verdict with everything that counted for and against it.
type Explanation struct {
	Verdict

	Protection string  `json:"protection,omitempty"` // what protects it; empty: nothing does
	Checks     []Check `json:"checks"`               // one of each rule, in order of precedence
}

// Check is one rule's answer.
type Check struct {
	Reason   Reason     `json:"reason"`
	Holds    Truth      `json:"holds"`
	Mode     Mode       `json:"mode"`
	Evidence []Evidence `json:"evidence,omitempty"`
	Doubt    string     `json:"doubt,omitempty"` // why it holds, or may hold, and yet does not count
}

// Explain judges like Judge, and tells what every rule says even where
// something keeps the subject from all of them.
func Explain(s Subject, facts *Facts, policy Policy) Explanation {
	e := Explanation{Verdict: Judge(s, facts, policy), Protection: policy.protection(s, facts.certain())}
	for _, rule := range rules {
		finding, _ := rule.ask(s, facts)
		e.Checks = append(e.Checks, Check{rule.Reason, finding.Holds, policy.mode(rule), finding.Evidence, finding.Doubt})
	}
	return e
}
