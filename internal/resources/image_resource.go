// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

var (
	_ resource.ResourceWithConfigure  = (*imageResource)(nil)
	_ resource.ResourceWithModifyPlan = (*imageResource)(nil)
)

// NewImageResource makes the resource sandbox_image.
func NewImageResource() resource.Resource { return &imageResource{} }

// imageResource is an image, named by its content. Another content is built in
// place: the resource is never without an image. Terraform destroys what depends
// on it before that, unless it is created before it is destroyed; hence the dry
// run when planning.
type imageResource struct{ configured }

// Metadata names the resource.
func (r *imageResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_image"
}

// ModifyPlan refuses what the connection cannot build, and keeps the reference
// unless something else is to be built.
func (r *imageResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.connections == nil {
		return
	}
	var plan, state, config imageModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	conn := r.refuse(plan.withSecretsOf(config), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if req.State.Raw.IsNull() {
		dryRunBuild(ctx, conn, plan, &resp.Diagnostics)
		return
	}
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	elsewhere := conn == nil || !sameLocation(state.ConnectionURI, conn.Connection)
	if elsewhere {
		resp.RequiresReplace.Append(path.Root("connection_uri"))
	}
	reference := state.Reference
	if elsewhere || !plan.sameContent(state) {
		reference = types.StringUnknown()
		dryRunBuild(ctx, conn, plan, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.SetAttribute(ctx, path.Root("reference"), reference)...)
}

// refuse asks the connection what it cannot build, as far as the plan is known.
// The result is nil while the connection is unknown.
func (r *imageResource) refuse(plan imageModel, diags *diag.Diagnostics) *Connection {
	if plan.ConnectionURI.IsUnknown() || diags.HasError() {
		return nil
	}
	conn, builder := r.open(plan, diags)
	if builder == nil {
		return nil
	}
	unknown := map[string]bool{
		"from":                !knownThroughout(plan.From),
		"dockerfile_commands": !knownThroughout(plan.DockerfileCommands),
		"publish":             plan.Publish.IsUnknown(),
	}
	for _, refusal := range append(builder.RefuseImage(plan.spec()), refusedName(conn, plan.Publish)...) {
		if !unknown[refusal.Attribute] {
			diags.AddAttributeError(path.Root(refusal.Attribute), "The connection cannot build this",
				fmt.Sprintf("%q refuses %s: %s", conn.Location(), refusal.Attribute, refusal.Reason))
		}
	}
	return conn
}

// open opens the connection of m, which must be one that builds images; the
// builder is nil when it is not, and diags says so.
func (r *imageResource) open(m imageModel, diags *diag.Diagnostics) (*Connection, backend.ImageBuilder) {
	conn := r.connections.openAttribute(m.ConnectionURI, diags)
	if conn == nil {
		return nil, nil
	}
	builder, ok := conn.Backend.(backend.ImageBuilder)
	if !ok {
		diags.AddAttributeError(path.Root("connection_uri"), "Connection builds no images",
			fmt.Sprintf("Sandboxes on %q take images that are made elsewhere. Name one in image of the sandbox_instance.", conn.Location()))
		return nil, nil
	}
	return conn, builder
}

// Create builds the image.
func (r *imageResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan, config imageModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	identity := r.build(ctx, &plan, config, "", &resp.Diagnostics)
	r.publish(ctx, plan, identity, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	memory{Identity: identity}.keep(ctx, resp.Private, &resp.Diagnostics)
}

// Read looks whether the image is still there.
func (r *imageResource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state imageModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	remembered := recall(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	conn, builder := r.open(state, &resp.Diagnostics)
	if builder == nil {
		return
	}
	reference := state.Reference.ValueString()
	attempt := fmt.Sprintf("Image %s on %q cannot be read", reference, conn.Location())
	identity, err := conn.Witness(ctx, remembered.Identity)
	if err != nil {
		addError(&resp.Diagnostics, attempt, err)
		return
	}
	there, err := builder.HasImage(ctx, reference)
	switch {
	case err != nil:
		addError(&resp.Diagnostics, attempt, err)
	case !there:
		resp.Diagnostics.AddWarning("Image is gone", fmt.Sprintf("Image %s is no longer on %q. It is planned anew.", reference, conn.Location()))
		resp.State.RemoveResource(ctx)
	default:
		memory{Identity: identity}.keep(ctx, resp.Private, &resp.Diagnostics)
	}
}

// Update builds the image anew unless only something beside it changed.
func (r *imageResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan, state, config imageModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	remembered := recall(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if plan.Reference.IsUnknown() {
		r.build(ctx, &plan, config, remembered.Identity, &resp.Diagnostics)
	}
	if !plan.Reference.Equal(state.Reference) || !plan.Publish.Equal(state.Publish) {
		r.publish(ctx, plan, remembered.Identity, &resp.Diagnostics)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
}

// Delete forgets the image, or deletes it if that was asked for.
func (r *imageResource) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	var state imageModel
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	remembered := recall(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !state.DeleteOnDestroy.ValueBool() {
		return
	}
	conn, builder := r.open(state, &resp.Diagnostics)
	if builder == nil {
		return
	}
	reference := state.Reference.ValueString()
	attempt := fmt.Sprintf("Image %s on %q cannot be deleted", reference, conn.Location())
	if _, err := conn.Witness(ctx, remembered.Identity); err != nil {
		addError(&resp.Diagnostics, attempt, err)
		return
	}
	err := builder.DeleteImage(ctx, reference)
	if errors.Is(err, backend.ErrConflict) {
		err = fmt.Errorf("%w\n\nA sandbox still uses the image. Destroy it first, or set delete_on_destroy = false and apply, "+
			"so that the image is only forgotten", err)
	}
	if err != nil {
		addError(&resp.Diagnostics, attempt, err)
	}
}
