// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// ErrConflict is a Store's answer to a Save over a version that is no longer
// the newest.
var ErrConflict = errors.New("the janitor's document changed meanwhile")

// Version is a Store's own word for one state of its document; "" is the
// version of a document that was never saved.
type Version string

// Store keeps one document. Save needs the version that was loaded and answers
// ErrConflict when the store holds another by now: that compare-and-swap is the
// fence between two janitors. A document that is lost or cannot be read is
// loaded as the empty one: everything is newly seen, late but never wrong.
type Store interface {
	Load(context.Context) (Document, Version, error)
	// Newest is the version that Load would tell.
	Newest(context.Context) (Version, error)
	Save(context.Context, Document, Version) (Version, error)
}

// DocumentSchema is the schema that this program reads and writes.
const DocumentSchema = 1

// Document is all that the janitor remembers. Scopes are keyed by Backend.Scope.
type Document struct {
	Schema int              `json:"schema"`
	Run    Run              `json:"run,omitzero"` // the run that holds the document; zero: none
	Scopes map[string]Scope `json:"scopes"`
}

// Run is one run's claim on the document.
type Run struct {
	ID      string    `json:"id"`
	Host    string    `json:"host"`
	Process string    `json:"process"` // as Options.Process
	Until   time.Time `json:"until"`   // the claim lapses then
}

// Scope is what is remembered of one place.
type Scope struct {
	Place        string        `json:"place,omitempty"`        // the identity that answered at the last look, see backend.Status
	LastLook     time.Time     `json:"last_look,omitzero"`     // the clock at the last look
	LastComplete time.Time     `json:"last_complete,omitzero"` // and at the last complete one
	LastHeard    time.Time     `json:"last_heard,omitzero"`    // the clock when its Airflow last answered
	LastCount    int           `json:"last_count"`             // sandboxes it listed, but for those that were asked to go
	Marks        verdict.Marks `json:"marks"`
}
