// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend/backendtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

// positions are the unknowns of production, all one way and all the other, with
// the quirks that were recorded.
var positions = map[string]emulator.Options{
	"orderly": {},
	"awkward": {
		PageSize: 10, TimestampGranularity: time.Millisecond,
		PollLag: 5 * time.Second, TimeoutLag: time.Second, DeadlineReportDelay: -1,
		ReplayCreates: true, TerminateUnknownOK: true, KeepTaskID: true, HoldName: true, NoSeededAccess: true,
		ListWithoutTags: emulator.V1 | emulator.V2, ListWithoutTimeout: emulator.V1 | emulator.V2,
		RetainFinished: 2 * time.Second,
	},
}

func TestModalSandboxesKeepEveryPromise(t *testing.T) {
	for generation, v2 := range map[string]string{"V2": "1", "V1": "0"} {
		for position, options := range positions {
			t.Run(generation+"/"+position, func(t *testing.T) {
				if testing.Short() && (generation != "V2" || position != "orderly") {
					t.Skip("-short: one of the four positions")
				}
				options.FailBuilds = []string{"taskowned.invalid"}
				server := start(t, options)
				t.Setenv("MODAL_SANDBOX_V2", v2)
				backendtest.Run(t, backendtest.Factory{
					Open:           opener(t, "modal:"),
					Elsewhere:      opener(t, "modal://main/elsewhere?egress_enforcement=sni"),
					Advance:        func(_ *testing.T, d time.Duration) { server.Advance(d) },
					Image:          backend.ImageSpec{From: "python:3.12-slim", Commands: []string{"RUN pip install pandas"}},
					OutlivesCaller: true,
				})
			})
		}
	}
}

// start starts an emulator and points the environment to it.
func start(t *testing.T, options emulator.Options) *emulator.Server {
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
	for _, variable := range server.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return server
}

// opener opens the app of a URI with the credentials of the environment.
func opener(t *testing.T, uri string) func(*testing.T, *backend.Caller) backend.Backend {
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
		a := newApp(conn, nil, caller, clock.System())
		a.findLag = 200 * time.Millisecond // the emulator has made a sandbox at once, if at all
		return a
	}
}
