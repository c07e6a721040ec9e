// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

type imageModel struct {
	ConnectionURI      types.String `tfsdk:"connection_uri"`
	From               types.String `tfsdk:"from"`
	DockerfileCommands types.List   `tfsdk:"dockerfile_commands"`
	RegistryUsername   types.String `tfsdk:"registry_username"`
	RegistryPasswordWO types.String `tfsdk:"registry_password_wo"`
	SecretsWO          types.Map    `tfsdk:"secrets_wo"`
	SecretsWOVersion   types.Int64  `tfsdk:"secrets_wo_version"`
	Publish            types.String `tfsdk:"publish"`
	DeleteOnDestroy    types.Bool   `tfsdk:"delete_on_destroy"`
	Reference          types.String `tfsdk:"reference"`
}

// Schema describes a sandbox_image.
func (r *imageResource) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "An image for sandboxes, named by its content: the same content twice is one image, built once. What " +
			"the connection can know that it cannot build is refused when planning: on `local:` the whole of `from` is read for that, on " +
			"`modal:` only how things are written, so that a base image that is not there, or a command that fails, shows when the image is " +
			"built, with the end of the build's log. A change is built in place, and sandboxes follow to the new `reference`. Terraform " +
			"destroys them before the image is built: with `lifecycle { create_before_destroy = true }` in the `sandbox_instance` it is " +
			"the other way round, and a build that fails after all costs no sandbox. An image that is gone is planned anew.",
		Attributes: map[string]schema.Attribute{
			"connection_uri": schema.StringAttribute{
				MarkdownDescription: "Where the image is made, such as `local:`, or the `uri` of a `sandbox_connection`. " +
					"Another location replaces the image; other settings of the same location do not.",
				Required:   true,
				Validators: []validator.String{isConnectionURI},
			},
			"from": schema.StringAttribute{
				MarkdownDescription: "What the image is made of. On `modal:` an image of a registry, such as `python:3.12-slim`, or the id " +
					"of a Modal image. On `local:` the absolute path of a root file system: a directory, " +
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
			"registry_username": schema.StringAttribute{
				MarkdownDescription: "User of the registry that `from` is read from. It counts when the image is built; another one builds nothing.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1), stringvalidator.AlsoRequires(path.MatchRoot("registry_password_wo"))},
			},
			"registry_password_wo": schema.StringAttribute{
				MarkdownDescription: "Password of `registry_username`, never stored in plan or state.",
				Optional:            true,
				WriteOnly:           true,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1), stringvalidator.AlsoRequires(path.MatchRoot("registry_username"))},
			},
			"secrets_wo": schema.MapAttribute{
				MarkdownDescription: "Environment of the `dockerfile_commands`, such as a token for a package index. It is never stored in " +
					"plan or state, and the image does not have it unless a command writes it down. Raise `secrets_wo_version` to build " +
					"again with changed values.",
				Optional:    true,
				WriteOnly:   true,
				ElementType: types.StringType,
				Validators:  []validator.Map{isEnvironment, mapvalidator.AlsoRequires(path.MatchRoot("secrets_wo_version"))},
			},
			"secrets_wo_version": schema.Int64Attribute{
				MarkdownDescription: "Number of the present `secrets_wo`. Another number builds the image again.",
				Optional:            true,
				Validators:          []validator.Int64{int64validator.AlsoRequires(path.MatchRoot("secrets_wo"))},
			},
			"publish": schema.StringAttribute{
				MarkdownDescription: "A name under which others find the image, such as `analysis:stable`. It moves along when the image " +
					"changes; another name leaves the old one as it is. Not on `local:`.",
				Optional:   true,
				Validators: []validator.String{stringvalidator.LengthAtLeast(1)},
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

// spec is what m asks to build. Only a configuration holds what is never stored.
func (m imageModel) spec() backend.ImageSpec {
	spec := backend.ImageSpec{From: m.From.ValueString(), Commands: listStrings(m.DockerfileCommands), Secrets: mapStrings(m.SecretsWO)}
	if !m.RegistryUsername.IsNull() {
		spec.Registry = &backend.RegistryLogin{Username: m.RegistryUsername.ValueString(), Password: m.RegistryPasswordWO.ValueString()}
	}
	return spec
}

// withSecretsOf takes over from config what Terraform keeps out of plan and state.
func (m imageModel) withSecretsOf(config imageModel) imageModel {
	m.RegistryPasswordWO, m.SecretsWO = config.RegistryPasswordWO, config.SecretsWO
	return m
}

// sameContent reports whether m and other are known to ask for the same image.
// Who reads it from the registry does not change it.
func (m imageModel) sameContent(other imageModel) bool {
	return m.From.Equal(other.From) && m.DockerfileCommands.Equal(other.DockerfileCommands) && m.SecretsWOVersion.Equal(other.SecretsWOVersion)
}
