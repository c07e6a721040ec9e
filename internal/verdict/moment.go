// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// readMoment reads the moment in one of a sandbox's tags: zero where the tag is
// absent, a doubt where it is present and cannot be believed.
func readMoment(box *sandbox.Sandbox, key string) (moment time.Time, doubt string) {
	value, present := box.Tags[key]
	if !present {
		return time.Time{}, ""
	}
	moment, err := airflow.ParseExpiry(value)
	switch {
	case err != nil:
		return time.Time{}, fmt.Sprintf("the tag %s is %.40q, which is no time in Unix seconds", key, value)
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
