// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import "time"

// Questions are what one deployment is asked at once.
type Questions struct {
	Runs  []DagRun
	Tasks []TaskInstance
}

// Answers are what one deployment said. Absent is what it was not asked; what it
// was asked and could not answer has a Doubt. Neither is ever death.
type Answers struct {
	Runs  map[DagRun]RunAnswer
	Tasks map[TaskInstance]TaskAnswer

	// Ahead is how far the deployment's clock is before ours, in its last reply;
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
