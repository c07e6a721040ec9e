// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package clock tells the time. It is the only place that calls time.Now, so
// that whoever judges by the clock can be tested at any hour.
package clock

import (
	"sync"
	"time"
)

// Clock tells the present moment.
type Clock interface {
	Now() time.Time
}

// System is the clock of this machine, in UTC.
func System() Clock { return system{} }

type system struct{}

func (system) Now() time.Time { return time.Now().UTC() }

// Fake is a clock that moves only when it is told to. It is safe for
// concurrent use.
type Fake struct {
	mu  sync.Mutex
	now time.Time
}

// NewFake returns a clock that stands at now.
func NewFake(now time.Time) *Fake { return &Fake{now: now} }

// Now returns the moment at which the clock stands.
func (f *Fake) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

// Set moves the clock to now, forward or backward.
func (f *Fake) Set(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
}

// Advance moves the clock by d, which may be negative.
func (f *Fake) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}
