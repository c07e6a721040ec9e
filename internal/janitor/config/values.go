// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Duration is written with its unit, such as 5m or 1h30m, and is more than
// zero: a zero must never come to mean "now" or "everything".
type Duration time.Duration

// ParseDuration reads a Duration.
func ParseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("want a duration with its unit, such as 90s, 5m or 24h, not %q", text)
	}
	if d <= 0 {
		return 0, fmt.Errorf("must be more than zero, not %s", text)
	}
	return Duration(d), nil
}

// UnmarshalYAML reads a duration and keeps the place of a mistake.
func (d *Duration) UnmarshalYAML(node ast.Node) (err error) {
	*d, err = ParseDuration(scalar(node))
	return placed(err, node)
}

// MarshalYAML writes a duration as it is read.
func (d Duration) MarshalYAML() ([]byte, error) { return []byte(d.String()), nil }

// String returns the shortest form that ParseDuration reads: 24h, not 24h0m0s.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Count is a whole number, written in decimal digits: the library takes 1.5 for 1.
type Count int

// UnmarshalYAML reads a count and keeps the place of a mistake.
func (c *Count) UnmarshalYAML(node ast.Node) error {
	n, err := strconv.Atoi(scalar(node))
	if err != nil {
		return placed(fmt.Errorf("want a whole number, not %q", scalar(node)), node)
	}
	*c = Count(n)
	return nil
}

// Mode is verdict.Mode in its written form.
type Mode verdict.Mode

// ParseMode reads "report" or "enforce".
func ParseMode(text string) (Mode, error) {
	for _, mode := range []verdict.Mode{verdict.Report, verdict.Enforce} {
		if text == mode.String() {
			return Mode(mode), nil
		}
	}
	return 0, fmt.Errorf("want report or enforce, not %q", text)
}

// UnmarshalYAML reads a mode and keeps the place of a mistake.
func (m *Mode) UnmarshalYAML(node ast.Node) (err error) {
	*m, err = ParseMode(scalar(node))
	return placed(err, node)
}

// MarshalYAML writes a mode as it is read.
func (m Mode) MarshalYAML() ([]byte, error) { return []byte(verdict.Mode(m).String()), nil }

// scalar returns the text of a plain value; of a mapping or list, its first mark.
func scalar(node ast.Node) string { return node.GetToken().Value }

func placed(err error, node ast.Node) error {
	if err == nil {
		return nil
	}
	return &yaml.SyntaxError{Message: err.Error(), Token: node.GetToken()}
}
