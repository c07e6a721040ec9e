// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The classes of error, tested with errors.Is. A vendor package wraps the
// vendor's words together with one of them.
var (
	ErrNotFound       = errors.New("not found")          // definitely gone
	ErrUnauthorized   = errors.New("not authorized")     // credentials missing, wrong, or for another account
	ErrUnenforceable  = errors.New("cannot be enforced") // a refusal
	ErrConflict       = errors.New("conflict")           // another incarnation, or changed meanwhile
	ErrUnavailable    = errors.New("unavailable")        // may work later; retryable
	ErrUnknownOutcome = errors.New("outcome unknown")    // the call may or may not have taken effect
	ErrUnsupported    = errors.New("not supported")      // this backend or this sandbox cannot
	ErrTooLarge       = errors.New("too large")          // over the caller's limit
	ErrInvalid        = errors.New("invalid")            // the request itself is wrong
)

var classes = []error{
	ErrNotFound, ErrUnauthorized, ErrUnenforceable, ErrConflict, ErrUnavailable,
	ErrUnknownOutcome, ErrUnsupported, ErrTooLarge, ErrInvalid,
}

// RetryAfterError is ErrUnavailable with the vendor's own word on when to come
// back, such as an HTTP Retry-After.
type RetryAfterError struct {
	After time.Duration
	Err   error // what the vendor said
}

// Error says what the vendor said, and when to come back.
func (e *RetryAfterError) Error() string {
	return fmt.Sprintf("%v (try again after %s)", e.Err, e.After)
}

// Unwrap makes it an ErrUnavailable.
func (e *RetryAfterError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// Refused returns ErrUnenforceable with every refusal, or nil when there is none.
func Refused(refusals []Refusal) error {
	if len(refusals) == 0 {
		return nil
	}
	words := make([]string, len(refusals))
	for i, r := range refusals {
		words[i] = r.Attribute + ": " + r.Reason
	}
	return fmt.Errorf("%w: %s", ErrUnenforceable, strings.Join(words, "; "))
}
