// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var _ datasource.DataSourceWithConfigure = (*instanceDataSource)(nil)

// NewInstanceDataSource makes the data source sandbox_instance.
func NewInstanceDataSource() datasource.DataSource { return &instanceDataSource{} }

// instanceDataSource reads one sandbox, whoever made it.
type instanceDataSource struct{ configuredDataSource }

type instanceDataSourceModel struct {
	ConnectionURI types.String `tfsdk:"connection_uri"`
	instanceData
}

// Metadata names the data source.
func (d *instanceDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_instance"
}

// Schema describes the data source.
func (d *instanceDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	attributes := instanceDataAttributes()
	attributes["connection_uri"] = schema.StringAttribute{
		MarkdownDescription: "Where the sandbox lives, such as `local:`, or the `uri` of a `sandbox_connection`.",
		Required:            true,
		Validators:          []validator.String{isConnectionURI},
	}
	attributes["handle"] = schema.StringAttribute{
		MarkdownDescription: "The backend's id of the sandbox.",
		Required:            true,
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "One sandbox as it is now, whoever made it: its owner, who holds it, and when it ends. One that is not there is an error.",
		Attributes:          attributes,
	}
}

// Read reads the sandbox.
func (d *instanceDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var model instanceDataSourceModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	conn := d.connections.openAttribute(model.ConnectionURI, &resp.Diagnostics)
	if conn == nil {
		return
	}
	handle := model.Handle.ValueString()
	found, err := conn.Snapshot.Get(ctx, sandbox.Ref{Handle: handle})
	switch {
	case errors.Is(err, backend.ErrNotFound):
		resp.Diagnostics.AddAttributeError(path.Root("handle"), "There is no such sandbox",
			fmt.Sprintf("%q has no sandbox %s. List what is there with the data source sandbox_instances.", conn.Location(), handle))
	case err != nil:
		addError(&resp.Diagnostics, fmt.Sprintf("Sandbox %s on %q cannot be read", handle, conn.Location()), err)
	case found.Problem != "":
		resp.Diagnostics.AddError(fmt.Sprintf("Sandbox %s on %q cannot be read", handle, conn.Location()), found.Problem)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	model.instanceData = instanceDataOf(found)
	resp.Diagnostics.Append(resp.State.Set(ctx, &model)...)
}
