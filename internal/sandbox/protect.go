// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

import (
	"strconv"
	"time"
)

// Protected reports whether TagProtect forbids to reclaim a sandbox at now, and
// until when; a zero until means for good. Empty or "false" does not protect, a
// time (RFC 3339, or Unix seconds as our other tags have) protects until then,
// and anything else protects: a slip of the pen must never cost a sandbox.
func Protected(tags Tags, now time.Time) (protected bool, until time.Time) {
	value := tags[TagProtect]
	if value == "" || value == "false" {
		return false, time.Time{}
	}
	until, ok := moment(value)
	return !ok || now.Before(until), until
}

// moment reads a time. Seconds count only within this century, so that "1" is a
// word for yes.
func moment(value string) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339, value); err == nil {
		return t, true
	}
	seconds, err := strconv.ParseInt(value, 10, 64)
	t := time.Unix(seconds, 0).UTC()
	if err != nil || t.Year() < 2020 || t.Year() >= 2100 {
		return time.Time{}, false
	}
	return t, true
}
