// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The bounds of a plausible expiry. Airflow has had sandboxes since 2026; what
// lies outside is a unit mixed up (milliseconds) or no time at all.
var (
	earliestExpiry = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
	latestExpiry   = time.Date(2100, time.January, 1, 0, 0, 0, 0, time.UTC)
)

// FormatExpiry returns t as TagExpiresAt holds it: whole Unix seconds, rounded
// down as Airflow does.
func FormatExpiry(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }

// ParseExpiry reads a stamp on which a sandbox's life may depend. It takes only
// what Airflow writes, decimal digits, and only moments between 2020 and 2100.
// An error means "unknown", never "expired".
func ParseExpiry(stamp string) (time.Time, error) {
	if stamp == "" || strings.Trim(stamp, "0123456789") != "" || stamp[0] == '0' {
		return time.Time{}, fmt.Errorf("the expiry %s is not in whole Unix seconds", abbreviate(stamp))
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || seconds < earliestExpiry.Unix() || seconds >= latestExpiry.Unix() {
		return time.Time{}, fmt.Errorf("the expiry %s is not a moment between %d and %d", abbreviate(stamp), earliestExpiry.Year(), latestExpiry.Year())
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// Remaining is what a task that attaches at now makes of a stamp: the seconds
// left, never negative. It reads any number Python's float does; an infinite
// result ends the task after it has claimed the sandbox.
func Remaining(stamp string, now time.Time) (seconds float64, known bool) {
	end, ok := parseFloat(stamp)
	if !ok {
		return 0, false
	}
	left := end - (float64(now.Unix()) + float64(now.Nanosecond())/1e9)
	if !(left > 0) { // NaN counts as none left
		return 0, true
	}
	return left, true
}
