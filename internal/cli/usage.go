// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"
)

// UsageError is a mistake on the command line.
type UsageError struct {
	Err  error
	Next string // what to do about it; empty: see the help
}

// Error is the mistake.
func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what the mistake is made of.
func (e UsageError) Unwrap() error { return e.Err }

// Usage makes a UsageError, as fmt.Errorf makes errors.
func Usage(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// IsUsage reports whether err is a mistake on the command line. For a command
// that it does not know cobra has no type.
func IsUsage(err error) bool {
	_, wrong := errors.AsType[UsageError](err)
	return wrong || strings.HasPrefix(err.Error(), "unknown command ")
}
