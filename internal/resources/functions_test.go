// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// call runs f offline, as Terraform does, and returns its result.
func call(t *testing.T, f function.Function, arguments ...attr.Value) (string, *function.FuncError) {
	t.Helper()
	resp := function.RunResponse{Result: function.NewResultData(types.StringUnknown())}
	f.Run(t.Context(), function.RunRequest{Arguments: function.NewArgumentsData(arguments)}, &resp)
	if resp.Error != nil {
		return "", resp.Error
	}
	result, ok := resp.Result.Value().(types.String)
	if !ok {
		t.Fatalf("result is a %T", resp.Result.Value())
	}
	return result.ValueString(), nil
}

func TestDagRunOwnerIsWhatATaskOfTheRunPresents(t *testing.T) {
	const run = "scheduled__2026-10-05T00:00:00+00:00"
	owner, err := call(t, NewDagRunOwnerFunction(), types.StringValue("etl"), types.StringValue(run))
	if err != nil || owner != "etl/"+run {
		t.Errorf("%q, %v", owner, err)
	}
}

func TestDagRunOwnerSaysWhichArgumentAirflowRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		dagID, runID string
		argument     int64
	}{
		"slash in Dag id":     {"a/b", "run", 0},
		"colon in Dag id":     {"terraform:etl", "run", 0},
		"empty Dag id":        {"", "run", 0},
		"space in run id":     {"etl", "my run", 1},
		"empty run id":        {"etl", "", 1},
		"newline in run id":   {"etl", "run\n", 1},
		"run id of 251":       {"etl", strings.Repeat("r", 251), 1},
		"both, the first one": {"a b", "c d", 0},
	} {
		owner, err := call(t, NewDagRunOwnerFunction(), types.StringValue(row.dagID), types.StringValue(row.runID))
		if err == nil || err.FunctionArgument == nil || *err.FunctionArgument != row.argument {
			t.Errorf("%s: %q, %v", name, owner, err)
		}
	}
}

// object makes the value that Terraform makes of { ... }.
func object(attributes map[string]attr.Value) attr.Value {
	attributeTypes := map[string]attr.Type{}
	for name, value := range attributes {
		attributeTypes[name] = value.Type(context.Background())
	}
	return types.DynamicValue(types.ObjectValueMust(attributeTypes, attributes))
}

// tuple makes the value that Terraform makes of [ ... ].
func tuple(values ...attr.Value) attr.Value {
	elementTypes := make([]attr.Type, len(values))
	for i, value := range values {
		elementTypes[i] = value.Type(context.Background())
	}
	return types.TupleValueMust(elementTypes, values)
}

func TestPolicyTagIsWhatAirflowStampsWhateverIsLeftOut(t *testing.T) {
	host, cidr := types.StringValue("a.example.org"), types.StringValue("203.0.113.7")
	list := types.ListValueMust(types.StringType, []attr.Value{host})
	set := types.SetValueMust(types.StringType, []attr.Value{host})
	for name, row := range map[string]struct {
		policy attr.Value
		want   string
	}{
		"nothing":    {object(nil), `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`},
		"one host":   {object(map[string]attr.Value{"allow_egress_to": tuple(host)}), `{"allow_egress_to":["a.example.org"],"allow_egress_to_cidrs":[],"block_network":true}`},
		"a list":     {object(map[string]attr.Value{"allow_egress_to": list}), `{"allow_egress_to":["a.example.org"],"allow_egress_to_cidrs":[],"block_network":true}`},
		"a set":      {object(map[string]attr.Value{"allow_egress_to": set}), `{"allow_egress_to":["a.example.org"],"allow_egress_to_cidrs":[],"block_network":true}`},
		"an address": {object(map[string]attr.Value{"allow_egress_to_cidrs": tuple(cidr)}), `{"allow_egress_to":[],"allow_egress_to_cidrs":["203.0.113.7"],"block_network":true}`},
		"open":       {object(map[string]attr.Value{"block_network": types.BoolValue(false)}), `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":false}`},
		"nulls": {object(map[string]attr.Value{
			"block_network": types.BoolNull(), "allow_egress_to": types.DynamicNull(), "allow_egress_to_cidrs": types.ListNull(types.StringType),
		}), `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`},
		"empty lists": {object(map[string]attr.Value{"allow_egress_to": tuple(), "allow_egress_to_cidrs": tuple()}), `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`},
	} {
		tag, err := call(t, NewNetworkPolicyTagFunction(), row.policy)
		if err != nil || tag != row.want {
			t.Errorf("%s: %s, %v, want %s", name, tag, err, row.want)
		}
	}
}

func TestPolicyTagNamesTheEntryItRefuses(t *testing.T) {
	host := types.StringValue("a.example.org")
	for name, row := range map[string]struct {
		policy attr.Value
		says   string
	}{
		"a string":        {types.DynamicValue(host), "a policy is an object"},
		"a misspelt name": {object(map[string]attr.Value{"allow_egress": tuple(host)}), "no allow_egress; there are allow_egress_to, allow_egress_to_cidrs, block_network"},
		"a bare string":   {object(map[string]attr.Value{"allow_egress_to": host}), "allow_egress_to is a list"},
		"a number":        {object(map[string]attr.Value{"allow_egress_to": tuple(host, types.NumberNull())}), "allow_egress_to[1] is not a string"},
		"a word":          {object(map[string]attr.Value{"block_network": types.StringValue("no")}), "block_network is true or false"},
		"second host":     {object(map[string]attr.Value{"allow_egress_to": tuple(host, types.StringValue("localhost"))}), "allow_egress_to[1]: "},
		"second range":    {object(map[string]attr.Value{"allow_egress_to_cidrs": tuple(types.StringValue("192.0.2.1"), types.StringValue("0.0.0.0/0"))}), "allow_egress_to_cidrs[1]: "},
		"contradiction":   {object(map[string]attr.Value{"block_network": types.BoolValue(false), "allow_egress_to": tuple(host)}), "block_network: "},
	} {
		tag, err := call(t, NewNetworkPolicyTagFunction(), row.policy)
		if err == nil || !strings.Contains(err.Text, row.says) || err.FunctionArgument == nil {
			t.Errorf("%s: %s, %v", name, tag, err)
		}
	}
}
