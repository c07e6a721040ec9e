// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

import "time"

// Protected reports whether TagProtect forbids to reclaim a sandbox at now, and
// until when; a zero until means for good. Empty or "false" does not protect, a
// time (RFC 3339) protects until then, and anything else protects: a slip of
// the pen must never cost a sandbox.
func Protected(tags Tags, now time.Time) (protected bool, until time.Time) {
	value := tags[TagProtect]
	if value == "" || value == "false" {
		return false, time.Time{}
	}
	until, err := time.Parse(time.RFC3339, value)
	if err != nil {
		return true, time.Time{}
	}
	return now.Before(until), until
}
