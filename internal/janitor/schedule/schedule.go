// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package schedule says when the janitor runs: it reads cron lines, refusing
// those that do not mean what they seem to, and follows them on a wall clock
// that may jump.
//
// Of robfig/cron only the parser and its Next are used. Its runner waits on
// monotonic timers, so that a suspended machine runs late by the length of its
// sleep, it skips silently, and it knows no context; Loop is the runner here.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // a container without zone files reads TZ= all the same

	"github.com/robfig/cron/v3"
)

// minInterval is the shortest @every that is accepted. The parser would turn
// zero, negative and sub-second intervals into "every second".
const minInterval = time.Minute

// Schedule is one checked cron line. The zero value never fires.
type Schedule struct {
	line     string
	zone     *time.Location
	schedule cron.Schedule
}

// Parse reads five cron fields, or one of @hourly, @daily and the like, or
// "@every DURATION" of at least a minute. Times are UTC unless the line begins
// with "TZ=ZONE ". A line that never fires is an error.
func Parse(line string) (Schedule, error) {
	s := Schedule{line: strings.TrimSpace(line), zone: time.UTC}
	fields := s.line
	if s.line == "" {
		return Schedule{}, errors.New("the schedule is empty")
	}
	zoned := false
	if prefix, rest, ok := cutZone(fields); ok {
		zone, err := loadZone(prefix, rest)
		if err != nil {
			return Schedule{}, err
		}
		s.zone, fields, zoned = zone, rest, true
	}
	if interval, ok := strings.CutPrefix(fields, "@every"); ok {
		if zoned {
			return Schedule{}, errors.New("@every knows no time zone: it counts from the start of the program")
		}
		if err := checkInterval(strings.TrimSpace(interval)); err != nil {
			return Schedule{}, err
		}
	}
	var err error
	if s.schedule, err = cron.ParseStandard(fields); err != nil {
		return Schedule{}, fmt.Errorf("read the schedule %q: %w", s.line, err)
	}
	// Any date does: the parser looks five years ahead, leap years included.
	if s.Next(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, fmt.Errorf("the schedule %q never fires", s.line)
	}
	return s, nil
}

// Next returns the first firing after the moment t, or the zero time when
// there is none within five years. The result is UTC wall time.
func (s Schedule) Next(t time.Time) time.Time {
	if s.schedule == nil {
		return time.Time{}
	}
	// Without its monotonic reading, a time compares by the wall clock.
	next := s.schedule.Next(t.Round(0).In(s.zone))
	if next.IsZero() {
		return time.Time{}
	}
	return next.UTC()
}

// String returns the line as it was written.
func (s Schedule) String() string { return s.line }

// cutZone splits "TZ=ZONE fields", the parser's only prefix.
func cutZone(line string) (zone, fields string, ok bool) {
	rest, ok := strings.CutPrefix(line, "CRON_TZ=")
	if !ok {
		rest, ok = strings.CutPrefix(line, "TZ=")
	}
	if !ok {
		return "", "", false
	}
	zone, fields, _ = strings.Cut(rest, " ")
	return zone, strings.TrimSpace(fields), true
}

// loadZone refuses what the parser panics on (a zone without fields) and what
// it reads as the machine's own zone.
func loadZone(zone, fields string) (*time.Location, error) {
	if fields == "" {
		return nil, fmt.Errorf("the schedule has a time zone %q and nothing after it", zone)
	}
	if zone == "" || zone == "Local" {
		return nil, fmt.Errorf("the time zone %q differs from machine to machine: write UTC or a name such as Europe/Paris", zone)
	}
	loaded, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("read the time zone of the schedule: %w", err)
	}
	return loaded, nil
}

func checkInterval(interval string) error {
	d, err := time.ParseDuration(interval)
	if err != nil {
		return fmt.Errorf("read the interval after @every: %w", err)
	}
	if d < minInterval || d%time.Second != 0 {
		return fmt.Errorf("@every %s: the interval must be whole seconds and at least %s", interval, minInterval)
	}
	return nil
}
