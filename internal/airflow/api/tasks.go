// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package api

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

const (
	// runsPerList is of how many runs one list gives the tasks.
	runsPerList = 50
	// tasksPerList keeps the statement that Airflow's database gets within what
	// databases take.
	tasksPerList = 5000

	taskList = "/api/v2/dags/~/dagRuns/~/taskInstances/list"
)

// taskQuery is a body of taskList: TaskInstancesBatchBody of
// airflow/api_fastapi/core_api/datamodels/task_instances.py, of which it has no
// more than every version takes. There is no filter for the map index, and what
// matches is any Dag with any run with any task.
type taskQuery struct {
	DagIDs  filter `json:"dag_ids"`
	RunIDs  filter `json:"dag_run_ids"`
	TaskIDs filter `json:"task_ids"`
	paging
}

// askTasks answers for each task. What is refused of one list harms no other; a
// server that breaks over all of them is not well.
func (c *Client) askTasks(ctx context.Context, asked []airflow.TaskInstance) (map[airflow.TaskInstance]airflow.TaskAnswer, error) {
	answers := make(map[airflow.TaskInstance]airflow.TaskAnswer, len(asked))
	groups, broken := batches(asked), 0
	for _, tasks := range groups {
		found, err := c.listTasks(ctx, tasks)
		if errors.Is(err, backend.ErrUnavailable) {
			broken++
		}
		if err != nil && (!isAbout(err, theQuestion) || broken == len(groups)) {
			return nil, err
		}
		for _, task := range tasks {
			if err != nil {
				answers[task] = airflow.TaskAnswer{Doubt: err.Error()}
			} else {
				answers[task] = found.answer(task)
			}
		}
	}
	return answers, nil
}

func (c *Client) listTasks(ctx context.Context, tasks []airflow.TaskInstance) (list, error) {
	var dags, runs, ids filter
	for _, t := range tasks {
		dags, runs, ids = append(dags, t.DagID), append(runs, t.RunID), append(ids, t.TaskID)
	}
	query := taskQuery{DagIDs: unique(dags), RunIDs: unique(runs), TaskIDs: unique(ids)}
	return c.read(ctx, "list task instances", taskList, maxPages, func(p paging) any {
		query.paging = p
		return query
	})
}

// answer is what a list says of a task.
func (l list) answer(asked airflow.TaskInstance) airflow.TaskAnswer {
	if r, ok := l.rows[asked]; ok {
		answer := airflow.TaskAnswer{State: airflow.TaskState(r.word()), Try: r.Try}
		if answer.State.Terminal() {
			answer.EndedAt = r.endedAt()
		}
		return answer
	}
	return airflow.TaskAnswer{Doubt: l.noTask(asked)}
}

// noTask says why a list has no row of a task.
func (l list) noTask(asked airflow.TaskInstance) string {
	switch {
	case !l.whole:
		return "Airflow's list of task instances ended early, or changed while it was read"
	case !l.tasks[taskOfRun{asked.DagRun, asked.TaskID}]:
		return "Airflow shows no such task instance: it is deleted, purged, or not for this account to read"
	case asked.MapIndex < 0:
		return "the task is mapped, and which of its instances is meant is not known"
	}
	return fmt.Sprintf("Airflow shows the task, but no instance of it with the map index %d", asked.MapIndex)
}

// batches groups tasks so that each group is one list: those of at most
// runsPerList runs, of as few Dags as can be.
func batches(asked []airflow.TaskInstance) [][]airflow.TaskInstance {
	tasks := slices.SortedFunc(slices.Values(asked), airflow.TaskInstance.Compare)
	var groups [][]airflow.TaskInstance
	runs, start := 0, 0
	for i, t := range tasks {
		newRun := i == 0 || t.DagRun != tasks[i-1].DagRun
		if newRun && runs == runsPerList || i-start == tasksPerList {
			groups = append(groups, tasks[start:i])
			runs, start = 0, i
		}
		if newRun {
			runs++
		}
	}
	if start < len(tasks) {
		groups = append(groups, tasks[start:])
	}
	return groups
}

// unique sorts a filter and leaves out what it has twice.
func unique(f filter) filter {
	slices.Sort(f)
	return slices.Compact(f)
}
