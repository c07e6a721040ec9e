// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package connect_test

import (
	"flag"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend/backendtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
)

var connection = flag.String("connection", "", "URI of the place on which TestConformance runs")

// TestConformance runs every promise of a backend on a place of the user's
// choice: make conformance CONNECTION=URI.
func TestConformance(t *testing.T) {
	if *connection == "" {
		t.Skip("-connection names no place")
	}
	conn, err := connect.Parse(*connection)
	if err != nil {
		t.Fatal(err)
	}
	backendtest.Run(t, backendtest.Factory{
		Open: func(t *testing.T, caller *backend.Caller) backend.Backend {
			b, err := connect.Open(conn, connect.Options{Caller: caller})
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
	})
}
