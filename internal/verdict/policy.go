// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import "time"

// Policy is what the configuration says about one connection. Its zero value
// reports with the rules' own graces and never destroys.
type Policy struct {
	// Connection is the name under which handles are protected: "NAME#HANDLE".
	Connection string
	Mode       Mode            // the most that any rule may do
	Modes      map[Reason]Mode // by rule; absent: the rule's own
	Graces     map[Reason]time.Duration
	Protect    Protection
	Airflow    Deployment // the one that is believed here
	// TrustHostClock lets this machine's clock count where the backend does not tell
	// its own. One that is told and differs is not overruled.
	TrustHostClock bool
	// Share of what was listed, between 0 and 1, beyond which undated deletions
	// are refused; 0: DefaultShare.
	Share float64
	// Accept is the Token of what a person lets pass.
	Accept string
}

// DefaultShare is the Share of a Policy that names none.
const DefaultShare = 0.25

// Protection names what is kept whatever the reasons, besides the tag
// sandbox.TagProtect.
type Protection struct {
	Owners  []string          // patterns of airflow_owner: "*" any run of characters, "?" one
	Tags    map[string]string // a sandbox with one of these exact tags
	Handles []string          // "CONNECTION#HANDLE"
}

func (p Policy) grace(r Rule) time.Duration {
	if grace, ok := p.Graces[r.Reason]; ok {
		return grace
	}
	return r.Grace
}

// SkewLimit is how far the backend's clock may be from ours: half of the
// shortest grace, so that nothing goes before its time by either clock.
func (p Policy) SkewLimit() time.Duration {
	shortest := p.grace(rules[0])
	for _, rule := range rules {
		shortest = min(shortest, p.grace(rule))
	}
	return shortest / 2
}

func (p Policy) mode(r Rule) Mode {
	mode, ok := p.Modes[r.Reason]
	if !ok {
		mode = r.Mode
	}
	return min(mode, p.Mode)
}

func (p Policy) share() float64 {
	if p.Share > 0 {
		return p.Share
	}
	return DefaultShare
}
