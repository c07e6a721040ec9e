// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

// State is the part of a sandbox's life that matters to Terraform and to the
// janitor. The zero value is Unknown, which always counts as alive.
type State int

// The states, in the order of a life.
const (
	Unknown  State = iota // a word we do not know
	Starting              // asked for, not usable yet
	Running               // usable
	Idle                  // paused or stopped; comes back, so it is alive
	Stopping              // asked to end, still there
	Failed                // never became usable, or broke
	Ended                 // gone, although the backend still remembers it
)

var stateNames = [...]string{"unknown", "starting", "running", "idle", "stopping", "failed", "ended"}

// String returns the state's lower-case word.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return stateNames[Unknown]
	}
	return stateNames[s]
}
