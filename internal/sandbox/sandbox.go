// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package sandbox is the vocabulary that everything else speaks: what a sandbox
// is, how it is named, tagged and specified. It does no I/O and imports nothing
// of this module.
package sandbox

import "time"

// Ref is one life of one sandbox. Incarnation is empty where a vendor never
// reuses handles; elsewhere it tells two lives of the same handle apart.
type Ref struct {
	Handle      string `json:"handle"`
	Incarnation string `json:"incarnation,omitempty"`
}

// Sandbox is what one read of a backend knows. A zero time means that the
// backend does not say; it is never read as "old".
type Sandbox struct {
	Ref

	Name      string // the name given at creation; may equal the handle
	State     State
	StateWord string // the vendor's own word for the state
	Problem   string // why the record cannot be read; such a sandbox is reported and never judged

	Tags      Tags
	TagsKnown bool // false: this reply carried no tags, which is not "has none"

	CreatedAt  time.Time
	StateSince time.Time
	LastUsedAt time.Time
	ServerEnds time.Time // when the backend itself ends it or refuses to use it

	Attached   int      // sessions or commands right now; -1 unknown
	Workspaces []string // host paths it uses
}

// Leftover is something that outlives sandboxes on a host: a half-made
// directory, a half-deleted one.
type Leftover struct {
	Ref              // Handle names it within its scope; Incarnation is the witness that Remove checks again
	Kind      string // the backend's own word, such as "staging" or "trash"
	Path      string // absolute host path
	CreatedAt time.Time
	ChangedAt time.Time // newest change seen at its top level; zero: unknown
	InUse     bool      // somebody holds it right now
	Problem   string    // why it must not be judged (a link, a mount point, a foreign owner)
}
