// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// plain is a backend of which only the capabilities are asked.
type plain struct{ backend.Backend }

func (plain) Capabilities() backend.Capabilities { return backend.Capabilities{} }

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

// alive is a sandbox as Create leaves it, with half an hour to live at noon.
func alive() sandbox.Sandbox {
	tags := sandbox.Tags{}
	stamp{
		network:   `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`,
		workdir:   sandbox.DefaultWorkdir,
		expiresAt: noon.Add(30 * time.Minute),
	}.write(tags, nil)
	return sandbox.Sandbox{
		Ref: sandbox.Ref{Handle: "sb"}, State: sandbox.Running, Tags: tags, TagsKnown: true,
		CreatedAt: noon.Add(-30 * time.Minute), ServerEnds: noon.Add(30 * time.Minute),
	}
}

func TestReadJudgesByTheEarlierOfTagAndServerEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		edit   func(*sandbox.Sandbox)
		before string
		want   due
	}{
		"alive":                               {want: nothingDue},
		"renewal not yet":                     {before: "29m59s", want: nothingDue},
		"renewal at its first moment":         {before: "30m", want: renewalDue},
		"server ends earlier":                 {before: "10m", edit: func(s *sandbox.Sandbox) { s.ServerEnds = noon.Add(5 * time.Minute) }, want: renewalDue},
		"server does not say":                 {edit: func(s *sandbox.Sandbox) { s.ServerEnds = time.Time{} }, want: nothingDue},
		"past the server's end":               {edit: func(s *sandbox.Sandbox) { s.ServerEnds = noon }, want: replacingDue},
		"past the tag's end":                  {edit: func(s *sandbox.Sandbox) { s.Tags[airflow.TagExpiresAt] = airflow.FormatExpiry(noon) }, want: replacingDue},
		"idle is alive":                       {edit: func(s *sandbox.Sandbox) { s.State = sandbox.Idle }, want: nothingDue},
		"an unknown word is alive":            {edit: func(s *sandbox.Sandbox) { s.State = sandbox.Unknown }, want: nothingDue},
		"failed":                              {edit: func(s *sandbox.Sandbox) { s.State = sandbox.Failed }, want: replacingDue},
		"stopping":                            {edit: func(s *sandbox.Sandbox) { s.State = sandbox.Stopping }, want: replacingDue},
		"marked for teardown":                 {edit: func(s *sandbox.Sandbox) { s.Tags[sandbox.TagTeardownAt] = "1" }, want: replacingDue},
		"held":                                {edit: func(s *sandbox.Sandbox) { s.Tags[airflow.TagHolder] = "a/b/c" }, want: nothingDue},
		"unreadable expiry":                   {edit: func(s *sandbox.Sandbox) { s.Tags[airflow.TagExpiresAt] = "soon" }, want: repairDue},
		"missing network tag":                 {edit: func(s *sandbox.Sandbox) { delete(s.Tags, airflow.TagNetwork) }, want: repairDue},
		"another workdir":                     {edit: func(s *sandbox.Sandbox) { s.Tags[airflow.TagWorkdir] = "/x" }, want: repairDue},
		"not ours any more":                   {edit: func(s *sandbox.Sandbox) { delete(s.Tags, sandbox.TagManagedBy) }, want: repairDue},
		"retired although it is in the state": {edit: func(s *sandbox.Sandbox) { s.Tags[sandbox.TagRetiredAt] = "1" }, want: repairDue},
		"no tags in this reply":               {edit: func(s *sandbox.Sandbox) { s.Tags, s.TagsKnown = nil, false }, want: nothingDue},
		"no end known, and no tags either":    {edit: func(s *sandbox.Sandbox) { s.Tags, s.TagsKnown, s.ServerEnds = nil, false, time.Time{} }, want: nothingDue},
	} {
		t.Run(name, func(t *testing.T) {
			found, state := alive(), sample()
			if tc.edit != nil {
				tc.edit(&found)
			}
			if tc.before != "" {
				state.RenewBefore = types.StringValue(tc.before)
			}
			r := &instanceResource{configured{&Connections{Clock: clock.NewFake(noon)}}}
			if got := r.judge(state, found, opened(t, "local:///a", plain{})); got != tc.want {
				t.Errorf("judged %q, want %q", got, tc.want)
			}
		})
	}
}

func TestTagsThatArePlannedAnewAreNamed(t *testing.T) {
	found := alive()
	found.Tags[airflow.TagNetwork], found.Tags[sandbox.TagRetiredAt], found.Tags["foreign"] = "{", "1", "x"
	var diags diag.Diagnostics
	warnDamaged("sb", sample().damaged(found, opened(t, "local:///a", plain{})), &diags)
	if said := diags[0].Detail(); !strings.Contains(said, " bear airflow_network, taskowned_retired_at as ") {
		t.Error(said)
	}
	found.TagsKnown = false
	if keys := sample().damaged(found, opened(t, "local:///a", plain{})); len(keys) > 0 {
		t.Errorf("tags that were not told are damaged: %v", keys)
	}
}

func TestReadKeepsWhatAReplyDoesNotTell(t *testing.T) {
	state := sample()
	state.Owner, state.Deployment = types.StringValue("terraform:a"), types.StringValue("prod")
	state.Tags = stringsMap(map[string]string{"a": "1"})
	state.CreatedAt, state.ExpiresAt = momentValue(noon), momentValue(noon.Add(time.Hour))
	was := state
	state.follow(sandbox.Sandbox{Ref: sandbox.Ref{Handle: "sb"}}, opened(t, "local:///a", plain{}))
	if !state.Owner.Equal(was.Owner) || !state.Deployment.Equal(was.Deployment) || !state.Tags.Equal(was.Tags) ||
		!state.CreatedAt.Equal(was.CreatedAt) || !state.ExpiresAt.Equal(was.ExpiresAt) {
		t.Errorf("%+v became %+v", was, state)
	}
}

func TestImportTellsWhatTheSandboxTells(t *testing.T) {
	state := instanceModel{Tags: types.MapNull(types.StringType), NetworkPolicy: types.ObjectNull(networkPolicyType)}
	found := alive()
	found.Tags[sandbox.TagDeployment] = "prod"
	found.Tags["team"], found.Tags[airflow.TagHolder], found.Tags[airflow.TagWorkdir] = "research", "a/b/c", "/data"
	state.follow(found, opened(t, "local:///a", plain{}))
	if state.Lifetime.ValueString() != "1h" || state.Workdir.ValueString() != "/data" ||
		state.Deployment.ValueString() != "prod" ||
		!state.Tags.Equal(stringsMap(map[string]string{"team": "research"})) || !state.NetworkPolicy.IsNull() {
		t.Errorf("%+v", state)
	}
}

func TestImportedLifetimeIsWrittenAsAPersonDoes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 59*time.Minute + 59*time.Second: "1h", 90 * time.Minute: "1h30m", 30 * time.Second: "1m", 12 * time.Hour: "12h",
	} {
		if got := wholeMinutes(d); got != want {
			t.Errorf("%s is written %s, want %s", d, got, want)
		}
	}
}
