// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// The exit statuses.
const (
	statusFailed      = 1
	statusUsage       = 2
	statusNotFound    = 3
	statusTimedOut    = 124
	statusNotRun      = 125
	statusInterrupted = 130
)

// failure is an error on its way to a person, or to a program that reads JSON.
type failure struct {
	Message    string `json:"message"`
	Class      string `json:"class"`
	Connection string `json:"connection,omitempty"`
	Handle     string `json:"handle,omitempty"`
	Next       string `json:"next,omitempty"` // what to do about it

	status int
}

// located is an error together with where it happened. The words say so
// already; programs that read JSON get it apart.
type located struct {
	error
	connection, handle string
}

func (l *located) Unwrap() error { return l.error }

// exitStatus is the failure of a command that ran in a sandbox; there is
// nothing to say about it.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// classes say for each class of error how it is called, and what to do next.
// The first that matches counts.
var classes = []struct {
	err   error
	class string
	next  string
}{
	{backend.ErrNotFound, "not_found", "see what is there: sandbox list CONNECTION"},
	{backend.ErrUnauthorized, "unauthorized", "check the credentials of CONNECTION"},
	{backend.ErrUnenforceable, "unenforceable", ""},
	{backend.ErrConflict, "conflict", "somebody else changed it; look again: sandbox list CONNECTION"},
	{backend.ErrUnknownOutcome, "unknown_outcome", "see what it came to: sandbox list CONNECTION"},
	{backend.ErrUnavailable, "unavailable", ""},
	{backend.ErrUnsupported, "unsupported", ""},
	{backend.ErrTooLarge, "too_large", "raise --max-bytes"},
	{backend.ErrInvalid, "invalid", ""},
}

// asFailure says which kind of failure err is.
func asFailure(ctx context.Context, command *cobra.Command, err error) failure {
	var ran exitStatus
	if errors.As(err, &ran) {
		return failure{status: int(ran)}
	}
	f := failure{Message: err.Error(), Class: "failed", status: statusFailed}
	var where *located
	if errors.As(err, &where) {
		f.Connection, f.Handle = where.connection, where.handle
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			f.Class, f.Next = c.class, strings.ReplaceAll(c.next, "CONNECTION", f.Connection)
			break
		}
	}
	var late timeUp
	switch {
	case ctx.Err() != nil:
		f.Class, f.Next, f.status = "interrupted", "", statusInterrupted
		return f
	case errors.As(err, &late):
		f.Class, f.status = "timed_out", statusTimedOut
		return f
	case isUsage(err):
		f.Class, f.status = "usage", statusUsage
		f.Next = fmt.Sprintf("see: %s --help", command.CommandPath())
	case f.Class == "not_found":
		f.status = statusNotFound
	}
	if command.Name() == "exec" {
		f.status = statusNotRun // any other is the command's own
	}
	return f
}

func (f failure) print(w io.Writer, output string) {
	switch {
	case f.Message == "":
	case output == "json":
		_ = printJSON(w, map[string]failure{"error": f}) // nobody is left to tell
	default:
		fmt.Fprintf(w, "sandbox: %s\n", f.Message)
		if f.Next != "" {
			fmt.Fprintf(w, "  next: %s\n", f.Next)
		}
	}
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
