// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package figure holds what a test has measured to its limit, in the line that
// make bench looks for.
package figure

import (
	"fmt"
	"testing"
)

// Hold prints a figure with its limit, and fails the test where it is over that.
// The name ends with its unit.
func Hold(t testing.TB, name string, value, limit float64) {
	t.Helper()
	verdict := "ok"
	if value > limit {
		verdict = "short"
		t.Errorf("%s is %.2f, over %g", name, value, limit)
	}
	fmt.Printf("figure=%s value=%.2f limit=%g verdict=%s\n", name, value, limit, verdict)
}
