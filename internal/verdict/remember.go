// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import "time"

// maxBackOff is the longest wait between two attempts.
const maxBackOff = 6 * time.Hour

// BackOff is the wait after the given number of attempts: ten minutes after the
// first, twice as long after each further one.
func BackOff(attempts int) time.Duration {
	wait := 10 * time.Minute
	for range attempts - 1 {
		wait = min(2*wait, maxBackOff)
	}
	return wait
}

// Remember returns the marks after a look and its plan: who was found to be a
// suspect is marked, who was not is cleared, and where the look could not tell,
// the mark stays as it was.
func Remember(facts Facts, plan Plan) Marks {
	marks := make(Marks)
	blind := facts.emptied()
	seen := make(map[Key]bool, len(plan.Verdicts))
	for _, v := range plan.Verdicts {
		seen[v.Key] = true
		old, marked := facts.Marks[v.Key]
		switch {
		case !old.Gone.IsZero(): // below
		case !old.Taken.IsZero():
			marks[v.Key] = old // until it is known whether its task is over
		case blind || v.Outcome == Unheard || v.Outcome == Unjudged || v.Outcome == Suspected && v.Ripe.IsZero():
			if marked && (blind || v.Reason == "" || v.Reason == old.Reason) {
				marks[v.Key] = old
			} else if marked { // another reason may hold, the old one did not
				marks[v.Key] = old.StartOver()
			}
		case v.Outcome >= Suspected:
			marks[v.Key] = old.agree(v, facts)
		case v.Outcome == Ended && !old.Asked.IsZero():
			marks[v.Key] = old // its end was asked for, and is still to be confirmed
		case marked && !facts.Complete:
			marks[v.Key] = old.StartOver()
		}
	}
	for key, mark := range facts.Marks {
		switch {
		case !mark.Gone.IsZero():
			if mark, kept := mark.outlive(facts); kept {
				marks[key] = mark
			}
		case seen[key]:
		case facts.Complete && !blind && mark.Asked.IsZero() && mark.Taken.IsZero(): // no longer there
		default: // not seen, or asked to go: only a read by id tells that it is gone
			marks[key] = mark
		}
	}
	return marks
}

// agree counts one more look that saw the reason.
func (m Mark) agree(v Verdict, facts Facts) Mark {
	if m.Reason != v.Reason || m.Claim != v.Claim || facts.wentBack() || m.First.After(facts.Now) {
		m = m.StartOver()
		if furthest := facts.Now.Add(maxBackOff); m.Next.After(furthest) {
			m.Next = furthest
		}
	}
	m.Reason, m.Claim = v.Reason, v.Claim
	if facts.wentBack() {
		return m // a time that is in doubt must not become the age of anything
	}
	if m.First.IsZero() {
		m.First = facts.Now
	}
	if facts.Complete {
		m.Looks++
	}
	return m
}

// StartOver forgets since when the reason holds, because it was seen not to,
// but not what was asked.
func (m Mark) StartOver() Mark {
	m.First, m.Looks = time.Time{}, 0
	return m
}

// outlive keeps the mark of what is gone until two looks running find it old
// enough to forget: one may have been made by a clock that was wrong.
func (m Mark) outlive(facts Facts) (kept Mark, ok bool) {
	old := facts.ClockDoubt == "" && facts.Now.Sub(m.Gone).Abs() >= goneKept
	if old && m.Looks > 0 {
		return Mark{}, false
	}
	m.Looks = 0
	if old {
		m.Looks = 1
	}
	return m, true
}
