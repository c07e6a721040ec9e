// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"fmt"
	"strconv"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// The bounds of a believable moment in a tag. Milliseconds in place of seconds
// land beyond the last, a truth value or a counter before the first.
const (
	firstMoment   = 1_000_000_000 // Unix seconds: September 2001
	momentHorizon = 10 * 365 * 24 * time.Hour
)

// parseMoment reads Unix seconds, decimal and without a fraction, as Airflow
// and we write them. Airflow itself reads more; what it would not have written
// proves nothing.
func parseMoment(value string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil || seconds < firstMoment || strconv.FormatInt(seconds, 10) != value {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0).UTC(), true
}

// readMoment reads the moment in one of a sandbox's tags: zero where the tag is
// absent, a doubt where it is present and cannot be believed.
func readMoment(box *sandbox.Sandbox, key string, now time.Time) (moment time.Time, doubt string) {
	value, present := box.Tags[key]
	if !present {
		return time.Time{}, ""
	}
	moment, ok := parseMoment(value)
	switch {
	case !ok:
		return time.Time{}, fmt.Sprintf("the tag %s is %.40q, which is not a time in Unix seconds", key, value)
	case moment.After(now.Add(momentHorizon)):
		return time.Time{}, fmt.Sprintf("the tag %s is %.40q, which is too far ahead to be meant in Unix seconds", key, value)
	case box.CreatedAt.IsZero():
		return moment, ""
	case moment.Before(box.CreatedAt.Truncate(time.Second)):
		return time.Time{}, fmt.Sprintf("the tag %s says %s, before its creation %s", key, stamp(moment), stamp(box.CreatedAt))
	}
	return moment, ""
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
