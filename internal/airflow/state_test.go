// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow_test

import (
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
)

func TestAWordOfALaterAirflowIsToldFromAKnownOne(t *testing.T) {
	for state, want := range map[airflow.RunState]bool{"queued": true, "running": true, "success": true, "failed": true, "": false, "archived": false} {
		if got := state.Known(); got != want {
			t.Errorf("run %q is known: %t, want %t", state, got, want)
		}
	}
	for state, want := range map[airflow.TaskState]bool{"": true, "awaiting_input": true, "removed": true, "paused": false, "Failed": false} {
		if got := state.Known(); got != want {
			t.Errorf("task %q is known: %t, want %t", state, got, want)
		}
	}
}

func TestOnlyStatesKnownToBeTerminalAreDead(t *testing.T) {
	for state, want := range map[airflow.RunState]bool{
		"success": true, "failed": true,
		"queued": false, "running": false, "": false, "FAILED": false, "cancelled": false,
	} {
		if got := state.Terminal(); got != want {
			t.Errorf("run %q is terminal: %t, want %t", state, got, want)
		}
	}
	for state, want := range map[airflow.TaskState]bool{
		"success": true, "failed": true, "skipped": true, "upstream_failed": true, "removed": true,
		"": false, "scheduled": false, "queued": false, "running": false, "restarting": false, "up_for_retry": false,
		"up_for_reschedule": false, "deferred": false, "awaiting_input": false, "Failed": false, "stopped": false,
	} {
		if got := state.Terminal(); got != want {
			t.Errorf("task %q is terminal: %t, want %t", state, got, want)
		}
	}
}
