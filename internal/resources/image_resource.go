// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
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

type imageModel struct {
	ConnectionURI      types.String `tfsdk:"connection_uri"`
	From               types.String `tfsdk:"from"`
	DockerfileCommands types.List   `tfsdk:"dockerfile_commands"`
	DeleteOnDestroy    types.Bool   `tfsdk:"delete_on_destroy"`
	Reference          types.String `tfsdk:"reference"`
}

// Metadata names the resource.
func (r *imageResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_image"
}

// Schema describes a sandbox_image.
func (r *imageResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "An image for sandboxes, named by its content: the same content twice is one image. What the " +
			"connection cannot build is refused when planning; on `local:` the whole of `from` is read for that. A change is built " +
			"in place, and sandboxes follow to the new `reference`. Terraform destroys them before the image is built: with " +
			"`lifecycle { create_before_destroy = true }` in the `sandbox_instance` it is the other way round, and a build that " +
			"fails after all costs no sandbox. An image that is gone is planned anew.",
		Attributes: map[string]schema.Attribute{
			"connection_uri": schema.StringAttribute{
				MarkdownDescription: "Where the image is made, such as `local:`, or the `uri` of a `sandbox_connection`. " +
					"Another location replaces the image; other settings of the same location do not.",
				Required:   true,
				Validators: []validator.String{isConnectionURI},
			},
			"from": schema.StringAttribute{
				MarkdownDescription: "What the image is made of. On `local:` the absolute path of a root file system: a directory, " +
					"whose changes the next plan sees, or a tarball, which is unpacked once. Another tarball behind the same path " +
					"is taken in by `terraform apply -replace=ADDRESS`. What another resource makes is taken from an output of that " +
					"resource, so that it is looked for only once it is there.",
				Required:   true,
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"dockerfile_commands": schema.ListAttribute{
				MarkdownDescription: "Dockerfile instructions to run on top, such as `RUN pip install pandas`. Not on `local:`.",
				Optional:            true,
				ElementType:         types.StringType,
				Validators:          []validator.List{listvalidator.NoNullValues(), listvalidator.ValueStringsAre(stringvalidator.LengthAtLeast(1))},
			},
			"delete_on_destroy": schema.BoolAttribute{
				MarkdownDescription: "Delete the image when the resource is destroyed. By default it is only forgotten, since " +
					"sandboxes made elsewhere may use it. Images that an update left behind stay.",
				Optional: true,
				Computed: true,
				Default:  booldefault.StaticBool(false),
			},
			"reference": schema.StringAttribute{
				MarkdownDescription: "The image's name, for `image` of a `sandbox_instance`.",
				Computed:            true,
			},
		},
	}
}

// ModifyPlan refuses what the connection cannot build, and keeps the reference
// unless something else is to be built.
func (r *imageResource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || r.connections == nil {
		return
	}
	var plan, state imageModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	conn := r.refuse(plan, &resp.Diagnostics)
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
	}
	for _, refusal := range builder.RefuseImage(plan.spec()) {
		if !unknown[refusal.Attribute] {
			diags.AddAttributeError(path.Root(refusal.Attribute), "The connection cannot build this",
				fmt.Sprintf("%s refuses %s: %s", conn.Location(), refusal.Attribute, refusal.Reason))
		}
	}
	return conn
}

// open opens the connection of m, which must be one that builds images; the
// builder is nil when it is not, and diags says so.
func (r *imageResource) open(m imageModel, diags *diag.Diagnostics) (*Connection, backend.ImageBuilder) {
	conn, err := r.connections.Open(m.ConnectionURI.ValueString())
	if err != nil {
		diags.AddAttributeError(path.Root("connection_uri"), "Connection cannot be opened", err.Error())
		return nil, nil
	}
	builder, ok := conn.Backend.(backend.ImageBuilder)
	if !ok {
		diags.AddAttributeError(path.Root("connection_uri"), "Connection builds no images",
			fmt.Sprintf("Sandboxes on %s take images that are made elsewhere. Name one in image of the sandbox_instance.", conn.Location()))
		return nil, nil
	}
	return conn, builder
}

func (m imageModel) spec() backend.ImageSpec {
	return backend.ImageSpec{From: m.From.ValueString(), Commands: listStrings(m.DockerfileCommands)}
}

// sameContent reports whether m and other are known to ask for the same image.
func (m imageModel) sameContent(other imageModel) bool {
	return m.From.Equal(other.From) && m.DockerfileCommands.Equal(other.DockerfileCommands)
}

// Create builds the image.
func (r *imageResource) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	var plan imageModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	identity := r.build(ctx, &plan, "", &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &plan)...)
	memory{Identity: identity}.keep(ctx, resp.Private, &resp.Diagnostics)
}

// build builds what m asks for and sets the reference. want is the identity of
// the place where it was built before; empty: never. The result is the place's
// identity.
func (r *imageResource) build(ctx context.Context, m *imageModel, want string, diags *diag.Diagnostics) (identity string) {
	conn, builder := r.open(*m, diags)
	if builder == nil {
		return ""
	}
	attempt := fmt.Sprintf("Image cannot be built from %s on %s", m.From.ValueString(), conn.Location())
	var err error
	if want == "" {
		err = conn.Prepare(ctx)
	}
	if err == nil {
		identity, err = conn.Witness(ctx, want)
	}
	if err != nil {
		addError(diags, attempt, err)
		return ""
	}
	reference, err := builder.BuildImage(ctx, m.spec(), io.Discard)
	if err != nil {
		addError(diags, attempt, err)
		return ""
	}
	m.Reference = types.StringValue(reference)
	return identity
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
	attempt := fmt.Sprintf("Image %s on %s cannot be read", reference, conn.Location())
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
		resp.Diagnostics.AddWarning("Image is gone", fmt.Sprintf("Image %s is no longer on %s. It is planned anew.", reference, conn.Location()))
		resp.State.RemoveResource(ctx)
	default:
		memory{Identity: identity}.keep(ctx, resp.Private, &resp.Diagnostics)
	}
}

// Update builds the image anew unless only something beside it changed.
func (r *imageResource) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	var plan imageModel
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	remembered := recall(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if plan.Reference.IsUnknown() {
		r.build(ctx, &plan, remembered.Identity, &resp.Diagnostics)
		if resp.Diagnostics.HasError() {
			return
		}
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
	attempt := fmt.Sprintf("Image %s on %s cannot be deleted", reference, conn.Location())
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
