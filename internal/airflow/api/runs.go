// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package api

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
)

const (
	// readsPerAsk bounds the calls for single runs. What they cannot reach this
	// time is drawn by lot the next.
	readsPerAsk = 8

	runList = "/api/v2/dags/~/dagRuns/list"
)

// runQuery is a body of runList: DAGRunsBatchBody of
// airflow/api_fastapi/core_api/datamodels/dag_run.py, of which it has no more
// than every version takes. It cannot name runs. What can, the run_id_pattern of
// GET dagRuns, is not in every version, and searches the whole table.
type runQuery struct {
	DagIDs  filter `json:"dag_ids"`
	States  filter `json:"states"`
	OrderBy string `json:"order_by,omitempty"`
	paging
}

// askRuns answers for each run. Many are looked for among those of their Dags
// that are alive, and then among those that have ended last; few, and what is
// left, are read one by one.
func (c *Client) askRuns(ctx context.Context, asked []airflow.DagRun) (map[airflow.DagRun]airflow.RunAnswer, error) {
	answers := make(map[airflow.DagRun]airflow.RunAnswer, len(asked))
	left := unanswered(asked, answers)
	for _, query := range []runQuery{
		{States: filter{"queued", "running"}},
		{States: filter{"success", "failed"}, OrderBy: "-end_date"},
	} {
		if len(left) <= readsPerAsk && !slices.ContainsFunc(left, hasNoPath) {
			break
		}
		found, err := c.listRuns(ctx, query, left)
		if err != nil {
			return nil, err
		}
		for _, run := range left {
			if r, ok := found.rows[airflow.TaskInstance{DagRun: run, MapIndex: -1}]; ok {
				answers[run] = r.runAnswer()
			}
		}
		left = unanswered(left, answers)
	}
	return answers, c.readRuns(ctx, left, answers)
}

// unanswered returns the runs without an answer, each once.
func unanswered(runs []airflow.DagRun, answers map[airflow.DagRun]airflow.RunAnswer) []airflow.DagRun {
	left := slices.DeleteFunc(slices.Clone(runs), func(run airflow.DagRun) bool {
		_, answered := answers[run]
		return answered
	})
	slices.SortFunc(left, airflow.DagRun.Compare)
	return slices.Compact(left)
}

// listRuns lists runs of the Dags of these: all that are alive or, as a Dag may
// have years of those that have ended, the last of them.
func (c *Client) listRuns(ctx context.Context, query runQuery, runs []airflow.DagRun) (list, error) {
	for _, run := range runs {
		query.DagIDs = append(query.DagIDs, run.DagID)
	}
	query.DagIDs = unique(query.DagIDs)
	pages := maxPages
	if query.OrderBy != "" {
		pages = 1 + len(runs)/c.pageSize
	}
	found, err := c.read(ctx, "list Dag runs", runList, pages, func(p paging) any {
		query.paging = p
		return query
	})
	if isAbout(err, theQuestion) {
		return list{}, nil // what it would have said is asked one by one
	}
	return found, err
}

// readRuns reads runs one by one, and has a doubt for each that it does not.
func (c *Client) readRuns(ctx context.Context, runs []airflow.DagRun, answers map[airflow.DagRun]airflow.RunAnswer) error {
	reads := 0
	for _, i := range rand.Perm(len(runs)) {
		switch run := runs[i]; {
		case hasNoPath(run):
			answers[run] = airflow.RunAnswer{Doubt: "Airflow shows no such run in its lists, and cannot be asked for one with this id alone"}
		case reads == readsPerAsk:
			answers[run] = airflow.RunAnswer{Doubt: fmt.Sprintf("not asked this time: of the runs that Airflow's lists do not show, %d are read in a look", readsPerAsk)}
		default:
			reads++
			answer, err := c.readRun(ctx, run)
			if err != nil {
				return err
			}
			answers[run] = answer
		}
	}
	return nil
}

func (c *Client) readRun(ctx context.Context, run airflow.DagRun) (airflow.RunAnswer, error) {
	var reply row
	err := c.ask(ctx, call{verb: "read a Dag run", method: http.MethodGet, path: runPath(run)}, &reply)
	switch {
	case isAbout(err, theQuestion, theRole):
		return airflow.RunAnswer{Doubt: err.Error()}, nil
	case err != nil:
		return airflow.RunAnswer{}, err
	case reply.run() != run:
		return airflow.RunAnswer{Doubt: "Airflow's reply is about another run"}, nil
	}
	return reply.runAnswer(), nil
}

func runPath(run airflow.DagRun) string {
	return "/api/v2/dags/" + url.PathEscape(run.DagID) + "/dagRuns/" + url.PathEscape(run.RunID)
}

// runAnswer is what a row says of a run.
func (r row) runAnswer() airflow.RunAnswer {
	answer := airflow.RunAnswer{State: airflow.RunState(r.word())}
	if answer.State.Terminal() {
		answer.EndedAt = r.endedAt()
	}
	return answer
}

// hasNoPath reports whether no URL leads to the run: a slash is decoded before
// Airflow looks for the path, and dots alone are taken for directories.
func hasNoPath(run airflow.DagRun) bool {
	for _, id := range []string{run.DagID, run.RunID} {
		if id == "" || id == "." || id == ".." || strings.Contains(id, "/") {
			return true
		}
	}
	return false
}
