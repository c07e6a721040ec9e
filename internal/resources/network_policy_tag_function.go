// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// NewNetworkPolicyTagFunction makes the function network_policy_tag.
func NewNetworkPolicyTagFunction() function.Function { return networkPolicyTagFunction{} }

// networkPolicyTagFunction writes a policy as Airflow stamps it. Its parameter
// is dynamic because an object type would demand every attribute.
type networkPolicyTagFunction struct{}

// Metadata names the function.
func (networkPolicyTagFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "network_policy_tag"
}

// Definition describes the function.
func (networkPolicyTagFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "A network policy as Airflow's tag",
		MarkdownDescription: "Returns a network policy exactly as Airflow stamps it into the tag `airflow_network`. " +
			"Refuses what `sandbox_network_policy` refuses.",
		Parameters: []function.Parameter{
			function.DynamicParameter{
				Name: "policy",
				MarkdownDescription: "An object with any of `block_network` (default `true`), `allow_egress_to` and " +
					"`allow_egress_to_cidrs`. `{}` denies everything.",
			},
		},
		Return: function.StringReturn{},
	}
}

// Run reads the object, checks the policy and encodes it.
func (networkPolicyTagFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var argument types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &argument); resp.Error != nil {
		return
	}
	policy, err := policyFromValue(argument.UnderlyingValue())
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	if problems := airflow.CheckNetwork(policy); len(problems) > 0 {
		resp.Error = function.NewArgumentFuncError(0, describeProblems(problems))
		return
	}
	tag, err := airflow.EncodeNetwork(policy)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, tag)
}

// policyFromValue reads an object whose attributes may be missing or null.
func policyFromValue(value attr.Value) (policy sandbox.NetworkPolicy, err error) {
	object, ok := value.(types.Object)
	if !ok {
		return policy, errors.New(`a policy is an object, such as { allow_egress_to = ["api.example.org"] }`)
	}
	for name, attribute := range object.Attributes() {
		if attribute.IsNull() {
			continue
		}
		switch name {
		case "block_network":
			block, ok := attribute.(types.Bool)
			if !ok {
				return policy, errors.New("block_network is true or false")
			}
			policy.Open = !block.ValueBool()
		case "allow_egress_to":
			policy.AllowEgressTo, err = stringsFromValue(name, attribute)
		case "allow_egress_to_cidrs":
			policy.AllowEgressToCIDRs, err = stringsFromValue(name, attribute)
		default:
			return policy, fmt.Errorf("a policy has no %s; there are %s", name, strings.Join(slices.Sorted(maps.Keys(networkPolicyType)), ", "))
		}
		if err != nil {
			return policy, err
		}
	}
	return policy, nil
}

// stringsFromValue reads what Terraform makes of [...], tolist and toset.
func stringsFromValue(name string, value attr.Value) ([]string, error) {
	sequence, ok := value.(interface{ Elements() []attr.Value })
	if !ok {
		return nil, fmt.Errorf("%s is a list of strings", name)
	}
	var entries []string
	for i, element := range sequence.Elements() {
		entry, ok := element.(types.String)
		if !ok || entry.IsNull() {
			return nil, fmt.Errorf("%s[%d] is not a string", name, i)
		}
		entries = append(entries, entry.ValueString())
	}
	return entries, nil
}

// describeProblems puts one problem on a line, each with its place.
func describeProblems(problems []airflow.NetworkProblem) string {
	lines := make([]string, len(problems))
	for i, problem := range problems {
		place := problem.Attribute
		if problem.Index >= 0 {
			place = fmt.Sprintf("%s[%d]", problem.Attribute, problem.Index)
		}
		lines[i] = place + ": " + problem.Err.Error()
	}
	return strings.Join(lines, "\n")
}
