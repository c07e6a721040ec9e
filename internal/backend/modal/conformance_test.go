// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend/backendtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

// The sections of the suite that take seconds.
const (
	commands      = "commands"
	files         = "files"
	lostReplies   = "lost replies"
	givenUp       = "given up"
	concurrentUse = "concurrent use"
)

// flipped are the other positions of the emulator's switches, each of which is
// tested alone and all together. The zero value is a switch's usual position.
var flipped = emulator.Options{
	PageSize: 10, TimestampGranularity: time.Millisecond,
	PollLag: 5 * time.Second, TimeoutLag: time.Second, DeadlineReportDelay: -1, BuildTime: 50 * time.Millisecond,
	ReplayCreates: true, TerminateUnknownOK: true, KeepTaskID: true, HoldName: true, NoSeededAccess: true,
	ListWithoutTags: emulator.V1 | emulator.V2, ListWithoutTimeout: emulator.V1 | emulator.V2,
	RetainFinished: 2 * time.Second,
	MaxTagBytes:    2000,             // the longest tag of the suite that every place must take
	AccessLifetime: 20 * time.Second, // less than the client wants, so that it asks each time
	ClockAhead:     time.Minute,
	NoIssuedAt:     true,
	NoCheckedAt:    true,
}

// touched are the slow sections that a switch can have a part in: with it alone
// flipped they run in the generation that the client makes by default. The quick
// ones run in every position and both generations.
var touched = map[string][]string{
	"PageSize":             {concurrentUse},
	"TimestampGranularity": {concurrentUse},
	"PollLag":              {lostReplies, givenUp},
	"TimeoutLag":           {},
	"DeadlineReportDelay":  {commands},
	"BuildTime":            {},
	"ReplayCreates":        {lostReplies, givenUp},
	"TerminateUnknownOK":   {lostReplies},
	"KeepTaskID":           {commands},
	"HoldName":             {lostReplies, givenUp},
	"NoSeededAccess":       {files, lostReplies},
	"ListWithoutTags":      {lostReplies, givenUp},
	"ListWithoutTimeout":   {},
	"RetainFinished":       {lostReplies},
	"MaxTagBytes":          {},
	"AccessLifetime":       {files, concurrentUse},
	"ClockAhead":           {},
	"NoIssuedAt":           {},
	"NoCheckedAt":          {},
}

// steady are options that are no switches: where the server is, whose it is, what
// a test does with it, and how another client would be met.
var steady = []string{"Listen", "Workspace", "Token", "Environments", "Clock", "Log", "Latency", "FailBuilds", "RouterScheme", "Watch"}

// slow are the sections of which a switch that is flipped alone runs only those
// that it touches.
var slow = []string{commands, files, lostReplies, givenUp, concurrentUse}

// position is one stance of all switches.
type position struct {
	emulator.Options
	slow []string // sections of it to run
}

// positions are the usual one, all switches flipped, and each flipped alone.
func positions(t *testing.T) map[string]position {
	t.Helper()
	// Together, they would hide the clock for good.
	awkward := flipped
	awkward.NoCheckedAt = false
	all := map[string]position{"orderly": {slow: slow}, "awkward": {awkward, slow}}
	switches := reflect.ValueOf(flipped)
	for i, field := range reflect.VisibleFields(switches.Type()) {
		touches, listed := touched[field.Name]
		switch {
		case slices.Contains(steady, field.Name):
			continue
		case !listed || switches.Field(i).IsZero():
			t.Errorf("the switch %s of the emulator has no other position here", field.Name)
		}
		alone := position{slow: touches}
		reflect.ValueOf(&alone.Options).Elem().Field(i).Set(switches.Field(i))
		if alone.HoldName { // during the lag
			alone.PollLag = flipped.PollLag
		}
		all[field.Name] = alone
	}
	return all
}

// The positions wait more than they compute, so they run in parallel. Modal's
// client finds the emulator of each in a profile of its own.
func TestModalSandboxesKeepEveryPromise(t *testing.T) {
	profiles := filepath.Join(t.TempDir(), "modal.toml")
	t.Setenv("MODAL_CONFIG_PATH", profiles)
	t.Setenv("MODAL_SERVER_URL", "")
	t.Setenv("MODAL_SANDBOX_V2", "")
	for _, generation := range []string{"V2", "V1"} {
		for name, position := range positions(t) {
			t.Run(generation+"/"+name, func(t *testing.T) {
				if testing.Short() && (generation != "V2" || name != "orderly") {
					t.Skip("-short: one of all positions")
				}
				without := slices.DeleteFunc(slices.Clone(slow), func(section string) bool {
					return slices.Contains(position.slow, section) && (generation == "V2" || len(position.slow) == len(slow))
				})
				position.FailBuilds = []string{"taskowned.invalid"}
				server := emulate(t, position.Options)
				profile := addProfile(t, profiles, server, generation == "V2")
				t.Parallel()
				backendtest.Run(t, backendtest.Factory{
					Open:           opener(t, "modal:", profile),
					Elsewhere:      opener(t, "modal://main/elsewhere?egress_enforcement=sni", profile),
					Advance:        func(_ *testing.T, d time.Duration) { server.Advance(d) },
					Image:          backend.ImageSpec{From: "python:3.12-slim", Commands: []string{"RUN pip install pandas"}},
					OutlivesCaller: true,
					Without:        without,
				})
			})
		}
	}
}

// addProfile adds a section to a file of Modal's client, and returns the
// credentials that make it be read.
func addProfile(t *testing.T, file string, server *emulator.Server, v2 bool) backend.Credentials {
	t.Helper()
	profiles, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = fmt.Fprintf(profiles, "[%q]\nserver_url = %q\ntoken_id = %q\ntoken_secret = %q\nsandbox_v2 = %t\n",
		t.Name(), server.URL(), server.Token().ID, server.Token().Secret, v2)
	if err := errors.Join(err, profiles.Close()); err != nil {
		t.Fatal(err)
	}
	return backend.Credentials{fieldProfile: t.Name()}
}

// emulate starts an emulator and closes it with the test.
func emulate(t *testing.T, options emulator.Options) *emulator.Server {
	t.Helper()
	server, err := emulator.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Errorf("close the emulator: %v", err)
		}
	})
	return server
}

// start starts an emulator and points the environment to it.
func start(t *testing.T, options emulator.Options) *emulator.Server {
	t.Helper()
	server := emulate(t, options)
	for _, variable := range server.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return server
}

// opener opens the app of a URI; without credentials, with those of the environment.
func opener(t *testing.T, uri string, credentials backend.Credentials) func(*testing.T, *backend.Caller) backend.Backend {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := parse(u)
	if err != nil {
		t.Fatal(err)
	}
	return func(_ *testing.T, caller *backend.Caller) backend.Backend {
		a := newApp(conn, credentials, caller, clock.System())
		a.findLag = 200 * time.Millisecond // the emulator has made a sandbox at once, if at all
		return a
	}
}
