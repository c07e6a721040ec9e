// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/schedule"
)

func at(t *testing.T, stamp string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestScheduleFiresAtTheTimesItSays(t *testing.T) {
	for _, c := range []struct{ line, after, want string }{
		{"*/10 * * * *", "2026-11-30T09:03:00Z", "2026-11-30T09:10:00Z"},
		{"*/10 * * * *", "2026-11-30T09:10:00Z", "2026-11-30T09:20:00Z"},
		{"30 4 * * mon", "2026-11-30T09:03:00Z", "2026-12-07T04:30:00Z"},
		{"@daily", "2026-11-30T09:03:00Z", "2026-12-01T00:00:00Z"},
		{"@every 90s", "2026-11-30T09:03:00Z", "2026-11-30T09:04:30Z"},
		// The zone of the caller's time does not matter, only the line's.
		{"0 12 * * *", "2026-11-30T09:03:00+05:00", "2026-11-30T12:00:00Z"},
		{"TZ=America/New_York 0 12 * * *", "2026-11-30T09:03:00Z", "2026-11-30T17:00:00Z"},
		{"CRON_TZ=Asia/Tokyo 0 12 * * *", "2026-11-30T09:03:00Z", "2026-12-01T03:00:00Z"},
		{"TZ=UTC @hourly", "2026-11-30T09:03:00Z", "2026-11-30T10:00:00Z"},
		{"0 0 29 2 *", "2026-11-30T09:03:00Z", "2028-02-29T00:00:00Z"},
	} {
		s, err := schedule.Parse(c.line)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.line, err)
			continue
		}
		if got := s.Next(at(t, c.after)); !got.Equal(at(t, c.want)) || got.Location() != time.UTC {
			t.Errorf("%q after %s: %s, want %s in UTC", c.line, c.after, got, c.want)
		}
	}
}

func TestScheduleThatDoesNotMeanWhatItSeemsToIsRefused(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", "empty"},
		{"   ", "empty"},
		{"TZ=UTC", "nothing after it"}, // the parser would panic
		{"CRON_TZ=UTC", "nothing after it"},
		{"TZ=UTC ", "nothing after it"},
		{"TZ=Local * * * * *", "machine to machine"},
		{"TZ= * * * * *", "machine to machine"},
		{"TZ=Mars/Olympus * * * * *", "time zone"},
		{"tz=UTC * * * * *", "expected exactly 5 fields"},
		{"@every 0s", "at least 1m"}, // the parser would say every second
		{"@every -5m", "at least 1m"},
		{"@every 100ms", "at least 1m"},
		{"@every 59s", "at least 1m"},
		{"@every 90500ms", "whole seconds"},
		{"@every 5", "missing unit"},
		{"@every 1d", "unknown unit"},
		{"@every", "interval"},
		{"TZ=UTC @every 5m", "no time zone"},
		{"0 0 30 2 *", "never fires"},
		{", * * * *", "never fires"},
		{"0 * * * * *", "expected exactly 5 fields"}, // seconds
		{"* * * *", "expected exactly 5 fields"},
		{"60 * * * *", "above maximum"},
		{"0 0 * * 7", "above maximum"}, // Sunday is 0
		{"0 0 L * *", "failed to parse"},
		{"0 22-2 * * *", "beyond end"},
		{"@reboot", "unrecognized descriptor"},
		{"@Hourly", "unrecognized descriptor"},
	} {
		s, err := schedule.Parse(c.line)
		if err == nil {
			t.Errorf("Parse(%q) = %v, want an error", c.line, s)
			continue
		}
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("Parse(%q): %q does not say %q", c.line, err, c.want)
		}
	}
}

func TestZeroScheduleNeverFires(t *testing.T) {
	if next := (schedule.Schedule{}).Next(at(t, "2026-11-30T09:03:00Z")); !next.IsZero() {
		t.Errorf("fires at %s", next)
	}
}

func TestScheduleIsReadBackAsItWasWritten(t *testing.T) {
	s, err := schedule.Parse(" TZ=Europe/Paris 5 4 * * * ")
	if err != nil {
		t.Fatal(err)
	}
	if s.String() != "TZ=Europe/Paris 5 4 * * *" {
		t.Errorf("String() = %q", s)
	}
}

func FuzzParseNeverPanicsAndWhatItAcceptsFires(f *testing.F) {
	for _, line := range []string{"*/10 * * * *", "TZ=UTC", "@every 5m", "TZ=UTC @hourly", "0 0 30 2 *", "TZ=", "@every"} {
		f.Add(line)
	}
	now := time.Date(2026, time.November, 30, 9, 3, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, line string) {
		s, err := schedule.Parse(line)
		if err == nil && !s.Next(now).After(now) {
			t.Errorf("Parse(%q) is accepted and fires at %s", line, s.Next(now))
		}
	})
}
