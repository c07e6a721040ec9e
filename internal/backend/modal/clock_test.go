// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

const asksTheTime = "MountBatchedCheckExistence"

func TestACheckTellsHowFarModalsClockIsFromOurs(t *testing.T) {
	for name, opts := range map[string]emulator.Options{
		"together":                     {},
		"ours is behind":               {ClockAhead: time.Hour},
		"ours is ahead":                {ClockAhead: -time.Hour},
		"together, and no token tells": {NoIssuedAt: true},
	} {
		t.Run(name, func(t *testing.T) {
			server, _ := opened(t, opts, "modal:")
			a := at(t, "modal:")
			wantAhead := func(want time.Duration) {
				t.Helper()
				if _, err := a.Check(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got, known := a.Ahead(); !known || (want-got).Abs() > time.Minute {
					t.Errorf("ahead by %s, known %t; want %s", got, known, want)
				}
			}
			if got, known := a.Ahead(); known {
				t.Errorf("ahead by %s before Modal was asked", got)
			}
			wantAhead(opts.ClockAhead)
			ours := clock.NewFake(clock.System().Now().Add(2 * freshFor))
			a.clock, a.server.ours = ours, ours
			server.Advance(2*freshFor + time.Hour)
			wantAhead(opts.ClockAhead + time.Hour)
		})
	}
}

func TestClocksThatTheTokenShowsToAgreeCostNoCall(t *testing.T) {
	server, _ := opened(t, emulator.Options{}, "modal:")
	a := at(t, "modal:")
	if _, err := a.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ahead, known := a.Ahead(); !known || ahead != 0 || server.Calls()[asksTheTime] > 0 {
		t.Errorf("ahead by %s, known %t, with %v", ahead, known, server.Calls())
	}
}

func TestAClockThatModalDoesNotTellIsNotKnown(t *testing.T) {
	server, _ := opened(t, emulator.Options{NoIssuedAt: true, NoCheckedAt: true}, "modal:")
	a := at(t, "modal:")
	if _, err := a.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if ahead, known := a.Ahead(); known || server.Calls()[asksTheTime] != 1 {
		t.Errorf("ahead by %s, although Modal does not say", ahead)
	}
	server, _ = opened(t, emulator.Options{NoIssuedAt: true}, "modal:")
	a = at(t, "modal:")
	for _, code := range []codes.Code{codes.OK, codes.Unimplemented, codes.PermissionDenied, codes.Unavailable} {
		if code != codes.OK {
			server.Fail(asksTheTime, emulator.Fault{Code: code, Times: -1})
		}
		ours := clock.NewFake(a.clock.Now().Add(2 * freshFor))
		a.clock, a.server.ours = ours, ours
		if _, err := a.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", code, err)
		}
		if _, known := a.Ahead(); known != (code == codes.OK) {
			t.Errorf("%s: known %t, after an answer before", code, known)
		}
		server.Heal()
	}
}
