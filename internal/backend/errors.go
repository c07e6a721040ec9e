// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import "errors"

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
