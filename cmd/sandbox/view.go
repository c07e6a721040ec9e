// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// view is a sandbox as the commands show it. A time that the backend does not
// say is left out.
type view struct {
	Handle      string       `json:"handle"`
	Incarnation string       `json:"incarnation,omitempty"`
	Name        string       `json:"name,omitempty"`
	State       string       `json:"state"`
	StateWord   string       `json:"state_word,omitempty"` // the vendor's own
	Problem     string       `json:"problem,omitempty"`    // why the record cannot be read
	Owner       string       `json:"owner,omitempty"`
	Holder      string       `json:"holder,omitempty"`
	Workdir     string       `json:"workdir,omitempty"`
	CreatedAt   time.Time    `json:"created_at,omitzero"`
	LastUsedAt  time.Time    `json:"last_used_at,omitzero"`
	ExpiresAt   time.Time    `json:"expires_at,omitzero"`     // as the tag says
	ServerEnds  time.Time    `json:"server_ends_at,omitzero"` // as the backend says
	Protected   bool         `json:"protected"`
	Expired     bool         `json:"expired"`            // past its end, and still there
	Attached    *int         `json:"attached,omitempty"` // commands and sessions now
	Workspaces  []string     `json:"workspaces,omitempty"`
	Tags        sandbox.Tags `json:"tags"` // null: not known
}

func (a *app) view(s sandbox.Sandbox) view {
	v := view{
		Handle: s.Handle, Incarnation: s.Incarnation, Name: s.Name,
		State: s.State.String(), StateWord: s.StateWord, Problem: s.Problem,
		Owner: s.Tags[airflow.TagOwner], Holder: airflow.Holder(s.Tags), Workdir: s.Tags[airflow.TagWorkdir],
		CreatedAt: s.CreatedAt, LastUsedAt: s.LastUsedAt, ServerEnds: s.ServerEnds,
		Workspaces: s.Workspaces,
	}
	if s.TagsKnown {
		v.Tags = s.Tags
	}
	if s.Attached >= 0 {
		v.Attached = &s.Attached
	}
	if end, err := airflow.ParseExpiry(s.Tags[airflow.TagExpiresAt]); err == nil {
		v.ExpiresAt = end
	}
	v.Protected, _ = sandbox.Protected(s.Tags, a.clock.Now())
	v.Expired = s.State != sandbox.Ended && !v.end().IsZero() && !a.clock.Now().Before(v.end())
	return v
}

// words are the state, and what else counts, for people.
func (v view) words() string {
	words := v.State
	if v.Expired {
		words += ", expired"
	}
	if v.Protected {
		words += ", protected"
	}
	return words
}

// end is the moment after which the sandbox is of no use: tag or backend,
// whichever comes first.
func (v view) end() time.Time {
	if v.ExpiresAt.IsZero() || !v.ServerEnds.IsZero() && v.ServerEnds.Before(v.ExpiresAt) {
		return v.ServerEnds
	}
	return v.ExpiresAt
}

// table aligns rows in columns.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	return t.Flush()
}

// cell makes text from outside harmless on a terminal and in a table.
func cell(text string) string {
	if text == "" {
		return "-"
	}
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` {
		return quoted
	}
	return text
}

// until says how far t is from now.
func until(t, now time.Time) string {
	switch {
	case t.IsZero():
		return "-"
	case t.Before(now):
		return cli.Age(now.Sub(t)) + " ago"
	}
	return "in " + cli.Age(t.Sub(now))
}
