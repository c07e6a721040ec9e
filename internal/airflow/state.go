// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import "slices"

// RunState is the state of a Dag run, in Airflow's own word (DagRunState of
// airflow/utils/state.py, 3.3.2).
type RunState string

var runStates = []RunState{"queued", "running", "success", "failed"}

// Known reports whether the word is one of Airflow 3.3.2's.
func (s RunState) Known() bool { return slices.Contains(runStates, s) }

// Terminal reports whether the run has ended. A word that is not known here is
// taken for alive, as is the empty one.
func (s RunState) Terminal() bool { return s == "success" || s == "failed" }

// TaskState is the state of a task instance, in Airflow's own word
// (TaskInstanceState of airflow/utils/state.py, 3.3.2); empty where Airflow says
// null.
type TaskState string

var (
	terminalTaskStates = []TaskState{"success", "failed", "skipped", "upstream_failed", "removed"}
	livingTaskStates   = []TaskState{
		"", "scheduled", "queued", "running", "restarting", "up_for_retry", "up_for_reschedule", "deferred", "awaiting_input",
	}
)

// Known reports whether the word is one of Airflow 3.3.2's.
func (s TaskState) Known() bool { return s.Terminal() || slices.Contains(livingTaskStates, s) }

// Terminal reports whether the task instance has ended. A word that is not known
// here is taken for alive, as is the empty one: a task that waits for its retry,
// for a trigger or for a person is not dead.
func (s TaskState) Terminal() bool { return slices.Contains(terminalTaskStates, s) }
