// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package api asks an Airflow deployment, through its REST API v2, what has
// become of Dag runs and task instances. It sends only what Airflow 3.0 to 3.3
// have in common, and it only reads. What it answers are rows that Airflow
// showed; that Airflow showed none proves nothing.
package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// Options say where a deployment is and who asks.
type Options struct {
	// URL is the address of the API server, such as https://airflow.example.com or,
	// behind a proxy, https://example.com/airflow. See airflow.BaseURL.
	URL string
	// Token is used as it is. Without one, Username and Password get one, and a
	// new one when it is refused.
	Token, Username, Password string
	// Caller makes every call; nil: one of the client's own.
	Caller *backend.Caller
	Clock  clock.Clock
}

// Client asks one deployment. It is safe for concurrent use.
type Client struct {
	base     string // without a slash at its end
	options  Options
	caller   *backend.Caller
	http     *http.Client
	pageSize int

	session session
	theirs  theirClock
}

// New returns a client. It makes no call.
func New(o Options) (*Client, error) {
	base, err := airflow.BaseURL(o.URL)
	if err != nil {
		return nil, fmt.Errorf("the URL of Airflow: %w: %w", backend.ErrInvalid, err)
	}
	if o.Token == "" && (o.Username == "" || o.Password == "") {
		return nil, fmt.Errorf("the Airflow at %s: %w: give a token, or a user name and a password", base, backend.ErrUnauthorized)
	}
	return &Client{
		base:     base,
		options:  o,
		caller:   cmp.Or(o.Caller, &backend.Caller{}),
		pageSize: pageSize,
		// A redirect would make a POST a GET, and show the token to another host.
		http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// nobody is a task instance that cannot be: a Dag's id has no colon.
var nobody = []airflow.TaskInstance{{DagRun: airflow.DagRun{DagID: ":", RunID: ":"}, TaskID: ":", MapIndex: -1}}

// Ask asks about runs and tasks, each of which has an answer in what it returns.
// An error means that nothing is known: the deployment cannot be reached, refuses
// the account, or is no Airflow. What Airflow would not say of one run or task is
// that one's Doubt.
//
// It reads one list for every 50 runs whose tasks are asked about, two for all
// runs, each in as many calls as it has pages, and a few single runs. Asked about
// nothing, it reads a list of nothing, and so finds out whether it can be asked.
func (c *Client) Ask(ctx context.Context, q airflow.Questions) (airflow.Answers, error) {
	if q.Len() == 0 {
		if _, err := c.listTasks(ctx, nobody); err != nil {
			return airflow.Answers{}, err
		}
	}
	tasks, err := c.askTasks(ctx, q.Tasks)
	if err != nil {
		return airflow.Answers{}, err
	}
	runs, err := c.askRuns(ctx, q.Runs)
	if err != nil {
		return airflow.Answers{}, err
	}
	answers := airflow.Answers{Runs: runs, Tasks: tasks}
	answers.Ahead, answers.ClockKnown = c.theirs.ahead()
	return answers, nil
}
