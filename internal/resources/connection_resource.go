// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/resourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
)

var (
	_ resource.ResourceWithConfigure        = (*connectionResource)(nil)
	_ resource.ResourceWithConfigValidators = (*connectionResource)(nil)
	_ resource.ResourceWithModifyPlan       = (*connectionResource)(nil)
	_ resource.ResourceWithImportState      = (*connectionResource)(nil)
	_ resource.ResourceWithIdentity         = (*connectionResource)(nil)
)

// NewConnectionResource makes the resource sandbox_connection.
func NewConnectionResource() resource.Resource { return &connectionResource{} }

// connectionResource declares a place where sandboxes live and checks it.
// Destroying it only forgets: what lives there stays.
type connectionResource struct{ configured }

// Metadata names the resource.
func (r *connectionResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_connection"
}

// Schema describes a sandbox_connection.
func (r *connectionResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	computed := func(description string, modifiers ...planmodifier.String) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true, PlanModifiers: modifiers}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "A place where sandboxes live. Creating it makes what must exist there and checks that " +
			"sandboxes can be isolated; destroying it only forgets, and removes nothing. A place that cannot be reached, " +
			"or that is not the one it was, is an error and never counts as deleted. Sandboxes do not need it: a literal " +
			"URI works everywhere.",
		Attributes: map[string]schema.Attribute{
			"local": localBlock.schema,
			"modal": modalBlock.schema,
			"credentials": schema.StringAttribute{
				MarkdownDescription: "Name of the credential set to use: one of the provider's `credentials`, else the variables that " +
					"bear its name. Left out, the vendor's usual variables and files.",
				Optional:   true,
				Validators: []validator.String{check("the name of a credential set", connect.CheckCredentialsName)},
			},
			"deployment": schema.StringAttribute{
				MarkdownDescription: "Marker of the Airflow deployment for which sandboxes are made here. It is stamped on those that have none of their own.",
				Optional:            true,
				Validators:          []validator.String{check("the marker of a deployment", connect.CheckDeployment)},
			},
			"airflow_conn_id": schema.StringAttribute{
				MarkdownDescription: "Id of the Airflow connection by which Dags reach the same place. It is told to whoever asks, such as an " +
					"output for `ModalSandboxBackend(modal_conn_id=…)`; the function `airflow_connection` writes that connection.",
				Optional:   true,
				Validators: []validator.String{check("the id of an Airflow connection", airflow.CheckConnectionID)},
			},
			"uri":      computed("The connection as a URI, for `connection_uri`. Known when planning."),
			"location": computed("The URI without settings: what a sandbox's identity rests on. Known when planning."),
			"kind":     computed("Which backend it is, such as `local`. Known when planning."),
			"identity": computed("The witness of the machine or account that was reached, kept so that another one is never mistaken for it.",
				stringplanmodifier.UseStateForUnknown()),
			"capabilities": schema.SingleNestedAttribute{
				MarkdownDescription: "What sandboxes here can do. Known when planning.",
				Computed:            true,
				Attributes:          capabilitiesAttributes(),
			},
		},
	}
}

// ConfigValidators demands exactly one vendor.
func (r *connectionResource) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{resourcevalidator.ExactlyOneOf(path.MatchRoot("local"), path.MatchRoot("modal"))}
}

// IdentitySchema says what tells two connections apart.
func (r *connectionResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"location": identityschema.StringAttribute{RequiredForImport: true, Description: "The connection's location, such as local:"},
	}}
}

// ModifyPlan sets what follows from the configuration alone, so that sandboxes
// can be refused on the very first plan.
func (r *connectionResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.connections == nil {
		return
	}
	var plan, state connectionModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() || !plan.known() {
		return
	}
	if !r.describe(&plan, &resp.Diagnostics) {
		return
	}
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		if !state.Location.Equal(plan.Location) {
			plan.Identity = types.StringUnknown()
			resp.RequiresReplace.Append(path.Root("location"))
		}
	}
	if !state.Location.Equal(plan.Location) {
		r.dryRunPrepare(ctx, plan, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, &plan)...)
}

// Create makes what must exist at the place and checks it.
func (r *connectionResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan connectionModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() || !r.describe(&plan, &resp.Diagnostics) {
		return
	}
	conn, err := r.connections.Open(plan.URI.ValueString())
	if err == nil {
		err = conn.Prepare(ctx)
	}
	if err != nil {
		addError(&resp.Diagnostics, "Connection cannot be prepared", err)
		return
	}
	status, err := conn.Check(ctx)
	if err != nil {
		addError(&resp.Diagnostics, "Connection does not work", err)
		return
	}
	plan.Identity = types.StringValue(status.Identity)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, connectionIdentity{plan.Location})...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Read checks the place. It never forgets one: a directory that is missing
// today may be a disk that is not mounted.
func (r *connectionResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state connectionModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, connectionIdentity{state.Location})...)
	conn, err := r.connections.Open(state.URI.ValueString())
	if err != nil {
		addError(&resp.Diagnostics, "Connection cannot be opened", err)
		return
	}
	identity, err := conn.Witness(ctx, state.Identity.ValueString())
	if err != nil {
		addError(&resp.Diagnostics, "Connection does not work", lostPlaceError{err})
		return
	}
	state.Identity = types.StringValue(identity)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// Update follows changed settings of the same place.
func (r *connectionResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state connectionModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() || !r.describe(&plan, &resp.Diagnostics) {
		return
	}
	conn, err := r.connections.Open(plan.URI.ValueString())
	if err != nil {
		addError(&resp.Diagnostics, "Connection cannot be opened", err)
		return
	}
	identity, err := conn.Witness(ctx, state.Identity.ValueString())
	if err != nil {
		addError(&resp.Diagnostics, "Connection does not work with its new settings", err)
		return
	}
	plan.Identity = types.StringValue(identity)
	resp.Diagnostics.Append(resp.Identity.Set(ctx, connectionIdentity{plan.Location})...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Delete forgets the connection; the framework drops it from the state.
func (r *connectionResource) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {
}

// ImportState takes a connection URI, or the identity's location.
func (r *connectionResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	uri := req.ID
	if uri == "" {
		var identity connectionIdentity
		resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...)
		uri = identity.Location.ValueString()
	}
	if resp.Diagnostics.HasError() {
		return
	}
	state, err := connectionFromURI(uri)
	if err != nil {
		addError(&resp.Diagnostics, "Cannot import a connection by "+uri, err)
		return
	}
	if !r.describe(&state, &resp.Diagnostics) {
		return
	}
	resp.Diagnostics.Append(resp.Identity.Set(ctx, connectionIdentity{state.Location})...)
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// lostPlaceError adds what can be done about a place that is not what it was.
type lostPlaceError struct{ error }

func (e lostPlaceError) Error() string {
	return e.error.Error() + "\n\nThe connection stays in the state, because what cannot be seen is not gone. " +
		"To make the place anew, run `terraform apply -refresh=false -replace=ADDRESS`, after a `terraform state rm` of each thing that was in it; to forget it, `terraform state rm ADDRESS`."
}

func (e lostPlaceError) Unwrap() error { return e.error }
