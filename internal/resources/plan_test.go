// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// fixed is a backend whose network is decided at birth.
type fixed struct{ backend.Backend }

// editable is one that can change it, but not so that everything is denied.
type editable struct {
	backend.Backend
	backend.NetworkEditor
}

func (editable) CanSetNetwork(_, to sandbox.NetworkPolicy) bool { return !to.DeniesAll() }

func hour() types.String { return types.StringValue("1h") }

func sample() instanceModel {
	return instanceModel{
		ConnectionURI: types.StringValue("local:///a"),
		Lifetime:      hour(),
		Tags:          types.MapNull(types.StringType),
		Env:           types.MapNull(types.StringType),
		EnvWO:         types.MapNull(types.StringType),
		NetworkPolicy: types.ObjectNull(networkPolicyType),
	}
}

func opened(t *testing.T, uri string, b backend.Backend) *Connection {
	t.Helper()
	known, err := connect.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return &Connection{Connection: known, Backend: b, place: &place{}}
}

func TestOnlyWhatASandboxIsBornWithReplacesIt(t *testing.T) {
	open := policyObject(sandbox.NetworkPolicy{Open: true})
	for name, tc := range map[string]struct {
		born    func(*instanceModel)
		edit    func(*instanceModel)
		uri     string
		backend backend.Backend
		want    []string
	}{
		"nothing":              {},
		"owner":                {edit: func(m *instanceModel) { m.Owner = types.StringValue("terraform:a") }},
		"tags":                 {edit: func(m *instanceModel) { m.Tags = stringsMap(map[string]string{"a": "1"}) }},
		"lifetime":             {edit: func(m *instanceModel) { m.Lifetime = types.StringValue("2h") }},
		"renew_before":         {edit: func(m *instanceModel) { m.RenewBefore = types.StringValue("2m") }},
		"settings":             {uri: "local:///a?deployment=prod"},
		"location":             {uri: "local:///b", want: []string{"connection_uri"}},
		"image":                {edit: func(m *instanceModel) { m.Image = types.StringValue("i") }, want: []string{"image"}},
		"unknown image":        {edit: func(m *instanceModel) { m.Image = types.StringUnknown() }, want: []string{"image"}},
		"workdir":              {edit: func(m *instanceModel) { m.Workdir = types.StringValue("/data") }, want: []string{"workdir"}},
		"env":                  {edit: func(m *instanceModel) { m.Env = stringsMap(map[string]string{"A": "1"}) }, want: []string{"env"}},
		"env_wo_version":       {edit: func(m *instanceModel) { m.EnvWOVersion = types.Int64Value(2) }, want: []string{"env_wo_version"}},
		"cpu":                  {edit: func(m *instanceModel) { m.CPU = types.Float64Value(1) }, want: []string{"cpu"}},
		"memory_mib":           {edit: func(m *instanceModel) { m.MemoryMiB = types.Int64Value(1) }, want: []string{"memory_mib"}},
		"gpu":                  {edit: func(m *instanceModel) { m.GPU = types.StringValue("g") }, want: []string{"gpu"}},
		"region":               {edit: func(m *instanceModel) { m.Region = types.StringValue("r") }, want: []string{"region"}},
		"cloud":                {edit: func(m *instanceModel) { m.Cloud = types.StringValue("c") }, want: []string{"cloud"}},
		"idle_timeout":         {edit: func(m *instanceModel) { m.IdleTimeout = hour() }, want: []string{"idle_timeout"}},
		"network_policy":       {edit: func(m *instanceModel) { m.NetworkPolicy = open }},
		"fixed network_policy": {edit: func(m *instanceModel) { m.NetworkPolicy = open }, backend: fixed{}, want: []string{"network_policy"}},
		"same network_policy":  {edit: func(m *instanceModel) { m.NetworkPolicy = policyObject(sandbox.NetworkPolicy{}) }, backend: fixed{}},
		"weaker than at birth": {
			born: func(m *instanceModel) { m.NetworkPolicy = open }, want: []string{"network_policy"},
		},
		"unknown network_policy": {edit: func(m *instanceModel) { m.NetworkPolicy = types.ObjectUnknown(networkPolicyType) }},
		"unknown idle_timeout":   {edit: func(m *instanceModel) { m.IdleTimeout = types.StringUnknown() }, want: []string{"idle_timeout"}},
		"two of them, in order":  {edit: func(m *instanceModel) { m.Image, m.GPU = types.StringValue("i"), types.StringValue("g") }, want: []string{"gpu", "image"}},
	} {
		t.Run(name, func(t *testing.T) {
			state, plan, b := sample(), sample(), backend.Backend(editable{})
			if tc.born != nil {
				tc.born(&state)
			}
			if tc.edit != nil {
				tc.edit(&plan)
			}
			if tc.backend != nil {
				b = tc.backend
			}
			if tc.uri != "" {
				plan.ConnectionURI = types.StringValue(tc.uri)
			}
			if got := replacing(state, plan, opened(t, plan.ConnectionURI.ValueString(), b)); !slices.Equal(got, tc.want) {
				t.Errorf("replacing %v, want %v", got, tc.want)
			}
		})
	}
}

func TestSameIdleTimeoutInOtherWordsReplacesNothing(t *testing.T) {
	state, plan := sample(), sample()
	state.IdleTimeout, plan.IdleTimeout = hour(), types.StringValue("60m")
	if got := replacing(state, plan, opened(t, "local:///a", fixed{})); len(got) > 0 {
		t.Errorf("replacing %v", got)
	}
}

func TestUnknownConnectionCountsAsAnotherOne(t *testing.T) {
	plan := sample()
	plan.ConnectionURI = types.StringUnknown()
	if got := replacing(sample(), plan, nil); !slices.Equal(got, []string{"connection_uri"}) {
		t.Errorf("replacing %v", got)
	}
}

func TestGuardNamesEveryUnknownInputButImageAndEnv(t *testing.T) {
	var diags diag.Diagnostics
	guard([]string{"workdir"}, map[string]bool{"image": true, "env": true, "owner": true, "network_policy": true}, &diags)
	if len(diags) != 2 {
		t.Fatalf("%d diagnostics: %v", len(diags), diags)
	}
	for i, name := range []string{"network_policy", "owner"} {
		at, ok := diags[i].(diag.DiagnosticWithPath)
		if !ok || !at.Path().Equal(path.Root(name)) || !strings.Contains(diags[i].Detail(), "workdir would replace") {
			t.Errorf("diagnostic %d is %v", i, diags[i])
		}
	}
	diags = nil
	guard(nil, map[string]bool{"owner": true}, &diags)
	if len(diags) > 0 {
		t.Errorf("nothing is replaced, but %v", diags)
	}
}

func TestImportAdoptsOnlyWhatItCouldNotRead(t *testing.T) {
	var diags diag.Diagnostics
	state := sample()
	state.Workdir = types.StringValue("/data")
	got := adopt([]string{"connection_uri", "image", "workdir"}, state, &diags)
	if !slices.Equal(got, []string{"connection_uri", "workdir"}) {
		t.Errorf("replacing %v", got)
	}
	if len(diags) != 1 || diags[0].Severity() != diag.SeverityWarning || !strings.Contains(diags[0].Detail(), "image of an existing sandbox") {
		t.Errorf("said %v", diags)
	}
}

func TestOnlyALongerLifeMayMoveTheEnd(t *testing.T) {
	minutes := func(s string) types.String { return types.StringValue(s) }
	for name, tc := range map[string]struct {
		lifetime, before types.String
		want             bool
	}{
		"same":                 {hour(), minutes("10m"), false},
		"in other words":       {minutes("60m"), minutes("600s"), false},
		"longer lifetime":      {minutes("61m"), minutes("10m"), true},
		"shorter lifetime":     {minutes("59m"), minutes("10m"), false},
		"unknown lifetime":     {types.StringUnknown(), minutes("10m"), true},
		"earlier renewal":      {hour(), minutes("11m"), true},
		"later renewal":        {hour(), minutes("9m"), false},
		"no renewal":           {hour(), types.StringNull(), false},
		"unknown renew_before": {hour(), types.StringUnknown(), true},
	} {
		t.Run(name, func(t *testing.T) {
			state, plan := sample(), sample()
			state.RenewBefore = minutes("10m")
			plan.Lifetime, plan.RenewBefore = tc.lifetime, tc.before
			if got := extends(state, plan); got != tc.want {
				t.Errorf("extends = %t", got)
			}
		})
	}
}
