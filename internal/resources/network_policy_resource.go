// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
)

var (
	_ resource.ResourceWithValidateConfig = (*networkPolicyResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*networkPolicyResource)(nil)
)

// NewNetworkPolicyResource makes the resource sandbox_network_policy.
func NewNetworkPolicyResource() resource.Resource { return &networkPolicyResource{} }

// networkPolicyResource is a policy with a name, for several sandboxes. Like
// terraform_data it lives in the state alone.
type networkPolicyResource struct{}

type networkPolicyResourceModel struct {
	networkPolicyModel
	Tag types.String `tfsdk:"tag"`
}

// Metadata names the resource.
func (r *networkPolicyResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_network_policy"
}

// Schema describes a sandbox_network_policy.
func (r *networkPolicyResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	attributes := networkPolicyAttributes()
	attributes["tag"] = schema.StringAttribute{
		MarkdownDescription: "The policy exactly as Airflow stamps it into the tag `airflow_network`. Known when planning.",
		Computed:            true,
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "What code in a sandbox may reach, written once and checked as Airflow checks it, stricter where " +
			"Airflow has a hole. It lives in the state alone. Without arguments it denies everything. " +
			"Give the whole resource to `network_policy` of a `sandbox_instance`.",
		Attributes: attributes,
	}
}

// ValidateConfig refuses a policy that contradicts itself.
func (r *networkPolicyResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config networkPolicyResourceModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if !resp.Diagnostics.HasError() {
		checkPolicy(config.networkPolicyModel, path.Root, &resp.Diagnostics)
	}
}

// ModifyPlan makes the tag known as soon as the policy is.
func (r *networkPolicyResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() {
		return
	}
	var plan networkPolicyResourceModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	plan.encode(&resp.Diagnostics)
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("tag"), plan.Tag)...)
}

// encode sets the tag: unknown while the policy is.
func (m *networkPolicyResourceModel) encode(diags *diag.Diagnostics) {
	if !m.known() {
		m.Tag = types.StringUnknown()
		return
	}
	tag, err := airflow.EncodeNetwork(m.policy())
	if err != nil {
		diags.AddError("Policy cannot be written as a tag", err.Error())
		return
	}
	m.Tag = types.StringValue(tag)
}

// Create keeps what was planned.
func (r *networkPolicyResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	keepPolicy(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

// keepPolicy keeps what was planned, with the tag of what is known by now.
func keepPolicy(ctx context.Context, planned tfsdk.Plan, state *tfsdk.State, diags *diag.Diagnostics) {
	var plan networkPolicyResourceModel
	diags.Append(planned.Get(ctx, &plan)...)
	if diags.HasError() {
		return
	}
	plan.encode(diags)
	diags.Append(state.Set(ctx, &plan)...)
}

// Read has nothing to look at.
func (r *networkPolicyResource) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {
}

// Update keeps what was planned.
func (r *networkPolicyResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	keepPolicy(ctx, req.Plan, &resp.State, &resp.Diagnostics)
}

// Delete forgets the policy; the framework drops it from the state.
func (r *networkPolicyResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
}
