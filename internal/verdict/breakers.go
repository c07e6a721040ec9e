// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// breakers are what must not trip for anything to be touched. Each returns why
// it trips, for the person who must decide, or nothing.
var breakers = []func(Plan, Facts, Policy) string{clockBreaker, placeBreaker, emptyListBreaker, shareBreaker}

func clockBreaker(_ Plan, facts Facts, _ Policy) string { return facts.ClockDoubt }

// placeBreaker stops at the same address in another account, or on another
// machine: what is gone there is not gone here, and the policy was written for
// here.
func placeBreaker(plan Plan, facts Facts, policy Policy) string {
	if !facts.Moved() || policy.accepts(plan) {
		return ""
	}
	return fmt.Sprintf("%s answers, where %s did at the last look: correct the credentials, or accept that it has moved", cmp.Or(facts.Place, "a place that does not say which"), facts.LastPlace)
}

// Moved reports whether another place answers than at the last look.
func (f *Facts) Moved() bool { return f.LastPlace != "" && f.Place != f.LastPlace }

// emptyListBreaker waits for a second empty listing: signed out, or in another
// account, everything seems to be gone.
func emptyListBreaker(_ Plan, facts Facts, _ Policy) string {
	if !facts.emptied() {
		return ""
	}
	return fmt.Sprintf("nothing is listed where %d stood at the last complete look; a second look will believe it", facts.LastCount)
}

func (f *Facts) emptied() bool { return f.Listed == 0 && f.LastCount > 0 }

// smallestShared is the number below which a share says nothing.
const smallestShared = 8

// shareBreaker stops what would take a large part of the place at once on
// proofs without a date of their own. Dated ones are not counted: after an
// outage they come in numbers, and would keep it tripped for ever.
func shareBreaker(plan Plan, facts Facts, policy Policy) string {
	all, undated := facts.Listed+facts.Leftovers, len(plan.undated())
	if all < smallestShared || float64(undated) <= policy.share()*float64(all) {
		return ""
	}
	if policy.accepts(plan) {
		return ""
	}
	return fmt.Sprintf("%d of %d would go, or be let go, on proofs without a date of their own, more than the share of %g", undated, all, policy.share())
}

func (p Plan) undated() []Verdict {
	var undated []Verdict
	for _, v := range p.Verdicts {
		if v.Outcome == Condemned && v.Mode == Enforce && !v.Dated {
			undated = append(undated, v)
		}
	}
	return undated
}

func (p Policy) accepts(plan Plan) bool { return p.Accept != "" && p.Accept == plan.Token }

// token names the set that the share breaker counts, and no other, and the
// place if it is another one.
func (p Plan) token(facts Facts, policy Policy) string {
	undated := p.undated()
	if len(undated) == 0 && !facts.Moved() {
		return ""
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%q", policy.Connection)
	if facts.Moved() {
		fmt.Fprintf(hash, "%q%q", facts.LastPlace, facts.Place)
	}
	for _, v := range undated {
		fmt.Fprintf(hash, "%q%q%t%q", v.Handle, v.Incarnation, v.Leftover, v.Reason)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}
