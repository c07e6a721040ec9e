// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"maps"
	"slices"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// protection says what keeps a subject whatever the reasons; empty: nothing does.
func (p Policy) protection(s Subject, now time.Time) string {
	name := p.Connection + "#" + s.Key().Handle
	if slices.Contains(p.Protect.Handles, name) {
		return "protect.handles names " + name
	}
	if s.Sandbox == nil {
		return ""
	}
	tags := s.Sandbox.Tags
	if protected, _ := sandbox.Protected(tags, now); protected {
		return "the tag " + sandbox.TagProtect + " is " + tags[sandbox.TagProtect]
	}
	for _, key := range slices.Sorted(maps.Keys(p.Protect.Tags)) {
		if value, ok := tags[key]; ok && value == p.Protect.Tags[key] {
			return "protect.tags has " + key + ": " + value
		}
	}
	owner, owned := tags[airflow.TagOwner]
	for _, pattern := range p.Protect.Owners {
		if owned && matches(pattern, owner) {
			return "protect.owners has " + pattern
		}
	}
	return ""
}

// matches reports whether all of text fits pattern, where "*" stands for any
// run of characters, "/" included, and "?" for any one.
func matches(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, retry := -1, 0
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, retry = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i, j = i+1, j+1
		case star >= 0:
			retry++
			i, j = star+1, retry
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
