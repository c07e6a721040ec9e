// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package janitor looks at every connection, lets package verdict decide, and
// acts: every destroy has a saved intent, a fresh agreeing read and a claim on
// the one document that is the fence between two janitors. A run that is killed
// anywhere leaves nothing that the next one does not find.
package janitor

import (
	"context"
	"errors"

	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

var errTodo = errors.New("not written yet")

// Plan looks at every connection and decides. It changes nothing, not even the
// document, and another's live run does not stand in its way.
func Plan(ctx context.Context, opts Options) (Result, error) { return Result{}, errTodo }

// Sweep looks, decides and acts. An error means that the document could not be
// read or claimed, and that nothing was touched; everything else is in the
// Result. When ctx ends, nothing new is begun, calls in flight get StopGrace,
// and the outcomes are saved.
func Sweep(ctx context.Context, opts Options) (Result, error) { return Result{}, errTodo }

// Explanation is everything that counts for and against one thing.
type Explanation struct {
	verdict.Explanation

	Connection string `json:"connection"`
	Scope      string `json:"scope"`
}

// ErrNoSuchThing is Explain's and Retry's answer for a handle that is neither a
// sandbox nor a leftover, and Retry's for one that has no mark.
var ErrNoSuchThing = errors.New("no such sandbox or leftover")

// Explain reads one sandbox or leftover of opts.Connections[connection name]
// afresh and judges it. It changes nothing.
func Explain(ctx context.Context, opts Options, connection, handle string) (Explanation, error) {
	return Explanation{}, errTodo
}

// Retry releases what is quarantined or backing off under handle at the named
// connection: the next run may ask again. It answers ErrNoSuchThing when nothing
// is marked under that handle.
func Retry(ctx context.Context, opts Options, connection, handle string) error { return errTodo }
