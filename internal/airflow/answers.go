// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"cmp"
	"slices"
	"time"
)

// Questions are what one deployment is asked at once.
type Questions struct {
	Runs  []DagRun
	Tasks []TaskInstance
}

// Len is how many they are.
func (q Questions) Len() int { return len(q.Runs) + len(q.Tasks) }

// And returns the questions of both, each once and in order.
func (q Questions) And(other Questions) Questions {
	both := Questions{slices.Concat(q.Runs, other.Runs), slices.Concat(q.Tasks, other.Tasks)}
	slices.SortFunc(both.Runs, DagRun.Compare)
	slices.SortFunc(both.Tasks, TaskInstance.Compare)
	both.Runs, both.Tasks = slices.Compact(both.Runs), slices.Compact(both.Tasks)
	return both
}

// Compare orders runs by Dag and id.
func (r DagRun) Compare(other DagRun) int {
	return cmp.Or(cmp.Compare(r.DagID, other.DagID), cmp.Compare(r.RunID, other.RunID))
}

// Compare orders task instances by run, task and map index.
func (t TaskInstance) Compare(other TaskInstance) int {
	return cmp.Or(t.DagRun.Compare(other.DagRun), cmp.Compare(t.TaskID, other.TaskID), cmp.Compare(t.MapIndex, other.MapIndex))
}

// Answers are what one deployment said. Absent is what it was not asked; what it
// was asked and could not answer has a Doubt. Neither is ever death.
type Answers struct {
	Runs  map[DagRun]RunAnswer
	Tasks map[TaskInstance]TaskAnswer

	// Ahead is how far the deployment's clock is before ours at least, by its last reply;
	// it says nothing unless ClockKnown.
	Ahead      time.Duration
	ClockKnown bool
}

// RunAnswer is what is known of one run.
type RunAnswer struct {
	State   RunState
	EndedAt time.Time // by the deployment's clock; zero: it does not say
	Doubt   string    // why State is not known; empty: it is
}

// TaskAnswer is what is known of one task instance.
type TaskAnswer struct {
	State   TaskState
	Try     int       // the number of the try that State is of
	EndedAt time.Time // by the deployment's clock; zero: it does not say
	Doubt   string    // why State is not known; empty: it is
}
