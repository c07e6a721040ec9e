// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestFiltersMatchAllThatIsAskedFor(t *testing.T) {
	end := time.Date(2026, time.November, 30, 18, 0, 0, 0, time.UTC)
	found := sandbox.Sandbox{
		State: sandbox.Running,
		Tags:  sandbox.Tags{airflow.TagOwner: "terraform:a", airflow.TagExpiresAt: airflow.FormatExpiry(end)},
	}
	endless := sandbox.Sandbox{State: sandbox.Running, Tags: sandbox.Tags{airflow.TagExpiresAt: "soon"}}
	serverEnds := endless
	serverEnds.ServerEnds = end
	owner, state := types.StringValue, types.StringValue
	before := func(d time.Duration) types.String { return types.StringValue(end.Add(d).Format(time.RFC3339)) }
	for name, row := range map[string]struct {
		filter  instancesModel
		sandbox sandbox.Sandbox
		matches bool
	}{
		"no filter":               {instancesModel{}, found, true},
		"its owner":               {instancesModel{Owner: owner("terraform:a")}, found, true},
		"another owner":           {instancesModel{Owner: owner("terraform:b")}, found, false},
		"an owner of nobody's":    {instancesModel{Owner: owner("terraform:a")}, endless, false},
		"its state":               {instancesModel{State: state("running")}, found, true},
		"another state":           {instancesModel{State: state("failed")}, found, false},
		"ends before":             {instancesModel{ExpiresBefore: before(time.Second)}, found, true},
		"ends just then":          {instancesModel{ExpiresBefore: before(0)}, found, false},
		"ends after":              {instancesModel{ExpiresBefore: before(-time.Hour)}, found, false},
		"an unknown end":          {instancesModel{ExpiresBefore: before(time.Hour)}, endless, false},
		"an end the server knows": {instancesModel{ExpiresBefore: before(time.Hour)}, serverEnds, true},
		"one of two":              {instancesModel{Owner: owner("terraform:a"), State: state("failed")}, found, false},
		"both":                    {instancesModel{Owner: owner("terraform:a"), ExpiresBefore: before(time.Second)}, found, true},
	} {
		if got := row.filter.matches(row.sandbox); got != row.matches {
			t.Errorf("%s: %t, want %t", name, got, row.matches)
		}
	}
}

// terse is a vendor whose listing leaves out tags, as a reply may.
type terse struct {
	backend.Backend
	whole []sandbox.Sandbox
	gone  string
}

func (b terse) List(context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		for _, s := range b.whole {
			s.Tags, s.TagsKnown = nil, false
			if !yield(s, nil) {
				return
			}
		}
	}
}

func (b terse) Get(_ context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	for _, s := range b.whole {
		if s.Ref == ref && ref.Handle != b.gone {
			return s, nil
		}
	}
	return sandbox.Sandbox{}, backend.ErrNotFound
}

func TestUnknownTagsAreReadBeforeAFilterJudges(t *testing.T) {
	made := func(handle, owner string) sandbox.Sandbox {
		return sandbox.Sandbox{Ref: sandbox.Ref{Handle: handle}, TagsKnown: true, Tags: sandbox.Tags{airflow.TagOwner: owner}}
	}
	b := terse{whole: []sandbox.Sandbox{made("c", "x"), made("b", "y"), made("a", "x"), made("d", "x")}, gone: "d"}
	conn := &Connection{Backend: b, place: &place{Snapshot: backend.NewSnapshot(b)}}
	var diags diag.Diagnostics
	var handles []string
	for _, data := range (instancesModel{Owner: types.StringValue("x")}).list(t.Context(), conn, &diags) {
		handles = append(handles, data.Handle.ValueString())
	}
	if want := []string{"a", "c"}; !slices.Equal(handles, want) || len(diags) > 0 {
		t.Errorf("%q, %v, want %q", handles, diags, want)
	}
}
