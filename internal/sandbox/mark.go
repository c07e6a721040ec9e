// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

import (
	"crypto/rand"
	"strings"
)

const namePrefix = "taskowned-"

// NewMark returns the random mark of one create attempt: 26 lower-case letters
// and digits, 128 bits of chance.
func NewMark() string { return strings.ToLower(rand.Text()) }

// Name returns the sandbox name that carries mark: at most 64 characters, as
// the strictest vendor wants, and made of lower-case letters, digits and dashes.
func Name(mark string) string { return namePrefix + mark }
