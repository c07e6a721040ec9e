// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package clock_test

import (
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

func TestClocksAreApartOnlyAsFarAsNeitherAReplyNorItsFractionsHide(t *testing.T) {
	begun := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	ended := begun.Add(2 * time.Second)
	for _, c := range []struct{ earliest, latest, want time.Duration }{
		{0, 0, 0},
		{time.Second, time.Second, 0},
		{2 * time.Second, 2 * time.Second, 0},
		{-time.Minute, time.Minute, 0},
		{-time.Minute, 0, 0},
		{2 * time.Second, time.Minute, 0},
		{time.Minute, time.Minute, 58 * time.Second},
		{time.Minute, time.Hour, 58 * time.Second},
		{-time.Minute, -time.Minute, -time.Minute},
		{-time.Hour, -time.Minute, -time.Minute},
	} {
		if got := clock.Apart(begun.Add(c.earliest), begun.Add(c.latest), begun, ended); got != c.want {
			t.Errorf("between %s and %s: %s, want %s", c.earliest, c.latest, got, c.want)
		}
	}
}
