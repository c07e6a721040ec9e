// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

import (
	"crypto/rand"
	"regexp"
	"strings"
)

const (
	namePrefix  = "taskowned-"
	claimPrefix = "terraform:"
)

// NewMark returns the random mark of one create attempt: 26 lower-case letters
// and digits, 128 bits of chance.
func NewMark() string { return strings.ToLower(rand.Text()) }

// Name returns the sandbox name that carries mark: at most 64 characters, as
// the strictest vendor wants, and made of lower-case letters, digits and dashes.
func Name(mark string) string { return namePrefix + mark }

// NewClaim returns the holder by which a destroy, Terraform's or the janitor's,
// takes a sandbox from Airflow. No task instance has such a name, because no Dag id holds a ':'.
func NewClaim() string { return claimPrefix + NewMark() }

var claim = regexp.MustCompile("^" + claimPrefix + "[a-z2-7]{26}$")

// IsClaim reports whether a destroy, and no task, has that name.
// The prefix is not enough: outside a task Airflow's toolset holds a sandbox
// under the owner's name, and "terraform:prod/analysis" is one.
func IsClaim(holder string) bool { return claim.MatchString(holder) }
