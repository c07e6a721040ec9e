// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// networkPolicyModel is a policy as Terraform writes it: inline on an instance,
// and as the resource sandbox_network_policy.
type networkPolicyModel struct {
	BlockNetwork       types.Bool `tfsdk:"block_network"`
	AllowEgressTo      types.List `tfsdk:"allow_egress_to"`
	AllowEgressToCIDRs types.List `tfsdk:"allow_egress_to_cidrs"`
}

var networkPolicyType = map[string]attr.Type{
	"block_network":         types.BoolType,
	"allow_egress_to":       types.ListType{ElemType: types.StringType},
	"allow_egress_to_cidrs": types.ListType{ElemType: types.StringType},
}

// networkPolicyAttributes are the attributes of a policy, the same inline and as
// a resource.
func networkPolicyAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"block_network": schema.BoolAttribute{
			MarkdownDescription: "`true` (the default) denies everything that the lists do not allow. `false` opens the network. " +
				"Terraform drops a misspelt name from an inline object without a word: this one then counts as left out, and denies.",
			Optional: true,
			Computed: true,
			Default:  booldefault.StaticBool(true),
		},
		"allow_egress_to": schema.ListAttribute{
			MarkdownDescription: "Hostnames that may be reached, such as `packages.example.org` or `*.example.org`.",
			Optional:            true,
			ElementType:         types.StringType,
			Validators:          []validator.List{listvalidator.NoNullValues(), listvalidator.ValueStringsAre(check("a hostname", airflow.CheckHostname))},
		},
		"allow_egress_to_cidrs": schema.ListAttribute{
			MarkdownDescription: "IPv4 addresses and ranges that may be reached, such as `203.0.113.0/24`.",
			Optional:            true,
			ElementType:         types.StringType,
			Validators:          []validator.List{listvalidator.NoNullValues(), listvalidator.ValueStringsAre(check("an IPv4 range", checkCIDR))},
		},
	}
}

func checkCIDR(entry string) error {
	_, err := airflow.CheckCIDR(entry)
	return err
}

// checkPolicy reports what contradicts itself in m, as far as it is known. at
// places one of its attributes. The entries of the lists have validators of
// their own.
func checkPolicy(m networkPolicyModel, at func(attribute string) path.Path, diags *diag.Diagnostics) {
	if !m.known() {
		return
	}
	for _, problem := range airflow.CheckNetwork(m.policy()) {
		if problem.Index < 0 {
			where := at(problem.Attribute)
			diags.AddAttributeError(where, "Contradictory network policy", fmt.Sprintf("%s: %v", where, problem.Err))
		}
	}
}

// known reports whether every part of the policy is known.
func (m networkPolicyModel) known() bool {
	return !m.BlockNetwork.IsUnknown() && knownThroughout(m.AllowEgressTo) && knownThroughout(m.AllowEgressToCIDRs)
}

// policy converts m, which must be known. An absent block_network is true.
func (m networkPolicyModel) policy() sandbox.NetworkPolicy {
	return sandbox.NetworkPolicy{
		Open:               !m.BlockNetwork.IsNull() && !m.BlockNetwork.ValueBool(),
		AllowEgressTo:      listStrings(m.AllowEgressTo),
		AllowEgressToCIDRs: listStrings(m.AllowEgressToCIDRs),
	}
}

// policyOf reads the network_policy object of an instance: null means deny
// everything. known is false while any part of it is unknown.
func policyOf(object types.Object) (policy sandbox.NetworkPolicy, known bool) {
	if object.IsUnknown() {
		return sandbox.NetworkPolicy{}, false
	}
	m := policyModelOf(object)
	if !m.known() {
		return sandbox.NetworkPolicy{}, false
	}
	return m.policy(), true
}

// policyModelOf takes a known object apart; what it lacks is null.
func policyModelOf(object types.Object) networkPolicyModel {
	var m networkPolicyModel
	parts := object.Attributes()
	m.BlockNetwork, _ = parts["block_network"].(types.Bool)
	m.AllowEgressTo, _ = parts["allow_egress_to"].(types.List)
	m.AllowEgressToCIDRs, _ = parts["allow_egress_to_cidrs"].(types.List)
	return m
}

// samePolicy compares what two policies mean; an unknown one is like no other.
func samePolicy(a, b types.Object) bool {
	pa, knownA := policyOf(a)
	pb, knownB := policyOf(b)
	return knownA && knownB && airflow.SameNetwork(pa, pb)
}

// policyObject is the reverse of policyOf.
func policyObject(p sandbox.NetworkPolicy) types.Object {
	return types.ObjectValueMust(networkPolicyType, map[string]attr.Value{
		"block_network":         types.BoolValue(!p.Open),
		"allow_egress_to":       stringsList(p.AllowEgressTo),
		"allow_egress_to_cidrs": stringsList(p.AllowEgressToCIDRs),
	})
}

// listStrings returns the strings of a known list; nil for an absent or empty one.
func listStrings(list types.List) []string {
	var out []string
	for _, element := range list.Elements() {
		if s, ok := element.(types.String); ok {
			out = append(out, s.ValueString())
		}
	}
	return out
}

// stringsList is the reverse of listStrings.
func stringsList(values []string) types.List {
	if len(values) == 0 {
		return types.ListNull(types.StringType)
	}
	elements := make([]attr.Value, len(values))
	for i, v := range values {
		elements[i] = types.StringValue(v)
	}
	return types.ListValueMust(types.StringType, elements)
}

// knownThroughout reports whether value and all its elements are known.
func knownThroughout(value attr.Value) bool {
	if value.IsUnknown() {
		return false
	}
	var elements []attr.Value
	switch v := value.(type) {
	case types.List:
		elements = v.Elements()
	case types.Map:
		for _, element := range v.Elements() {
			elements = append(elements, element)
		}
	}
	for _, element := range elements {
		if element.IsUnknown() {
			return false
		}
	}
	return true
}
