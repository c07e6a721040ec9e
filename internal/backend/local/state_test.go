// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// start is where the clock of most tests stands.
var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// place returns a state directory that is not made yet and that the users of
// sandboxes can reach.
func place(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, open := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(open, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "state")
}

// testHost returns a prepared backend on dir whose clock stands at start. Nothing
// is run in isolation by it.
func testHost(t *testing.T, dir string) (*host, *clock.Fake) {
	t.Helper()
	clk := clock.NewFake(start)
	h := newHost(dir, &backend.Caller{MaxRetries: -1}, clk)
	h.engine = &engine.Engine{}
	if err := h.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h, clk
}

func request(now time.Time, tags sandbox.Tags) backend.Request {
	return backend.NewRequest(sandbox.Spec{Lifetime: time.Hour}, tags, now)
}

func create(t *testing.T, h *host, tags sandbox.Tags) sandbox.Sandbox {
	t.Helper()
	made, err := backend.Create(t.Context(), h, request(h.clock.Now(), tags))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func list(t *testing.T, h *host) []sandbox.Sandbox {
	t.Helper()
	var all []sandbox.Sandbox
	for s, err := range h.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestCreatedSandboxIsListedUntilDestroyed(t *testing.T) {
	h, _ := testHost(t, place(t))
	made := create(t, h, sandbox.Tags{"team": "research"})
	if all := list(t, h); len(all) != 1 || all[0].Ref != made.Ref || all[0].Tags["team"] != "research" {
		t.Errorf("List = %v, want the one made", all)
	}
	if err := h.Destroy(t.Context(), made.Ref); err != nil {
		t.Fatal(err)
	}
	if all := list(t, h); len(all) != 0 {
		t.Errorf("List = %v after Destroy", all)
	}
}
