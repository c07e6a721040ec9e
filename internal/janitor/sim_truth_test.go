// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"strconv"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// error is the most by which a janitor may misjudge the time at a place.
func (s *site) error() time.Duration {
	if s.remote {
		return simExpired/2 + time.Second
	}
	return clockError
}

// keepsLeft says why a leftover must stand at a moment; empty: it need not.
func (v *view) keepsLeft(s *site, l sandbox.Leftover, at time.Time) string {
	switch {
	case l.Problem != "":
		return "it cannot be judged"
	case l.InUse || v.used[s.name][l.Path]:
		return "it is used"
	case at.Add(s.error()).Before(l.ChangedAt.Add(simOrphan)):
		return "it is too young"
	}
	return ""
}

// keepsBox says why a sandbox must stand at a moment; empty: it is dead.
func (w *world) keepsBox(s *site, b *box, at time.Time) string {
	switch {
	case b.Problem != "" || b.untold:
		return "it cannot be read"
	case protectedBox(s, b, at):
		return "it is protected"
	case b.Tags[airflow.TagSandbox] == "" && b.Tags[sandbox.TagTeardownAt] == "":
		return "it is foreign"
	}
	teardown, asked := unix(b.Tags[sandbox.TagTeardownAt])
	stuck := b.State == sandbox.Stopping || b.State == sandbox.Failed
	holder, held := b.Tags[airflow.TagHolder]
	held = held || len(b.robbed) > 0
	attached := held && !sandbox.IsClaim(holder)
	switch {
	case asked && !attached && !b.CreatedAt.IsZero() && at.After(teardown.Add(simFailed)):
		return ""
	case !asked && stuck && at.After(b.StateSince.Add(simFailed)):
		return ""
	}
	replaced, retired := unix(b.Tags[sandbox.TagRetiredAt])
	if retired && !held && !b.CreatedAt.IsZero() && at.After(replaced.Add(simRetired)) {
		return ""
	}
	tag, recorded := b.Tags[airflow.TagExpiresAt]
	end, readable := unix(tag)
	if b.ServerEnds.After(end) {
		end = b.ServerEnds
	}
	if b.CreatedAt.IsZero() || end.IsZero() || recorded && !readable || at.Before(end.Add(simExpired)) {
		if retired && held || asked && attached {
			return "it is held"
		}
		return "it is not past its end"
	}
	return ""
}

func protectedBox(s *site, b *box, at time.Time) bool {
	switch tag := b.Tags[sandbox.TagProtect]; tag {
	case "", "false":
	default:
		if until, timed := unix(tag); !timed || at.Before(until) {
			return true
		}
	}
	return strings.HasPrefix(b.Tags[airflow.TagOwner], "keep/") || b.Tags["team"] == "research" ||
		s.name == "remote" && b.Handle == "box-03"
}

func unix(value string) (time.Time, bool) {
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return time.Time{}, false
	}
	return time.Unix(seconds, 0), true
}
