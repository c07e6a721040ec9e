// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// pageSize is how many rows are asked for at once. Airflow 3.3.2 cuts the limit
// of a query to [api] maximum_page_limit, but not the one of a body; a server
// that gives less is asked for the rest.
const pageSize = 500

// maxPages ends a list that does not end.
const maxPages = 1000

// filter is a condition of a list. An empty one would be ignored by Airflow, and
// everything returned: it cannot be sent.
type filter []string

// MarshalJSON refuses an empty filter.
func (f filter) MarshalJSON() ([]byte, error) {
	if len(f) == 0 {
		return nil, errors.New("an empty filter would ask for everything")
	}
	return json.Marshal([]string(f))
}

// paging is the part of a list's body that says which page it asks for.
type paging struct {
	Offset int `json:"page_offset"`
	Limit  int `json:"page_limit"`
}

// row is a task instance or a Dag run; of a run there are no TaskID and MapIndex.
// All else that Airflow tells of them differs between its versions.
type row struct {
	DagID    string  `json:"dag_id"`
	RunID    string  `json:"dag_run_id"`
	TaskID   string  `json:"task_id"`
	MapIndex *int    `json:"map_index"`
	State    *string `json:"state"`
	Try      int     `json:"try_number"`
	EndDate  *string `json:"end_date"`
}

func (r row) run() airflow.DagRun { return airflow.DagRun{DagID: r.DagID, RunID: r.RunID} }

// key names what the row is about.
func (r row) key() airflow.TaskInstance {
	key := airflow.TaskInstance{DagRun: r.run(), TaskID: r.TaskID, MapIndex: -1}
	if r.MapIndex != nil {
		key.MapIndex = *r.MapIndex
	}
	return key
}

// word is the state; empty where Airflow says null.
func (r row) word() string {
	if r.State == nil {
		return ""
	}
	return *r.State
}

// endedAt is when what has ended did; zero where that is not said.
func (r row) endedAt() time.Time {
	if r.EndDate == nil {
		return time.Time{}
	}
	ended, err := time.Parse(time.RFC3339Nano, *r.EndDate)
	if err != nil {
		return time.Time{}
	}
	return ended.UTC()
}

// page is a reply of a list.
type page struct {
	Tasks []row `json:"task_instances"`
	Runs  []row `json:"dag_runs"`
	Total *int  `json:"total_entries"`
}

// rows returns the rows of a page, each of which names what it is about.
func (p page) rows() ([]row, error) {
	if p.Total == nil || *p.Total < 0 || p.Tasks == nil && p.Runs == nil {
		return nil, fmt.Errorf("%w: the reply has no rows or no total_entries", backend.ErrInvalid)
	}
	for _, r := range p.Tasks {
		if r.DagID == "" || r.RunID == "" || r.TaskID == "" || r.MapIndex == nil {
			return nil, fmt.Errorf("%w: a task instance without its dag_id, dag_run_id, task_id or map_index", backend.ErrInvalid)
		}
	}
	for _, r := range p.Runs {
		if r.DagID == "" || r.RunID == "" {
			return nil, fmt.Errorf("%w: a Dag run without its dag_id or dag_run_id", backend.ErrInvalid)
		}
	}
	return append(p.Tasks, p.Runs...), nil
}

// list is what was read of a list.
type list struct {
	rows  map[airflow.TaskInstance]row
	tasks map[taskOfRun]bool // whose rows these are, whatever their map index
	// whole: nothing was missed. Otherwise the list ended early, or changed while
	// it was read.
	whole bool
}

type taskOfRun struct {
	airflow.DagRun
	id string
}

// read reads a list page by page, at most so many of them. The body of the call
// is made for each page.
func (c *Client) read(ctx context.Context, verb, path string, pages int, body func(paging) any) (list, error) {
	found := list{rows: map[airflow.TaskInstance]row{}, tasks: map[taskOfRun]bool{}}
	total, moved := -1, false
	for offset := 0; pages > 0; pages-- {
		var reply page
		err := c.ask(ctx, call{verb, http.MethodPost, path, body(paging{offset, c.pageSize})}, &reply)
		if err != nil {
			return list{}, err
		}
		rows, err := reply.rows()
		if err != nil {
			return list{}, fmt.Errorf("%s: %s%s: %w", verb, c.base, path, err)
		}
		moved = moved || total >= 0 && total != *reply.Total
		total = *reply.Total
		for _, r := range rows {
			found.add(r)
		}
		if offset += len(rows); len(rows) == 0 || offset >= total {
			found.whole = !moved && len(found.rows) == total
			break
		}
	}
	return found, nil
}

// add keeps a row. Of two that were read of the same thing, in a list that
// changed meanwhile, the one that is alive counts.
func (l list) add(r row) {
	l.tasks[taskOfRun{r.run(), r.TaskID}] = true
	if old, twice := l.rows[r.key()]; !twice || airflow.TaskState(old.word()).Terminal() {
		l.rows[r.key()] = r
	}
}
