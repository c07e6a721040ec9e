// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var _ datasource.DataSourceWithConfigure = (*instancesDataSource)(nil)

// NewInstancesDataSource makes the data source sandbox_instances.
func NewInstancesDataSource() datasource.DataSource { return &instancesDataSource{} }

// instancesDataSource lists the sandboxes of a connection, whoever made them.
type instancesDataSource struct{ configuredDataSource }

type instancesModel struct {
	ConnectionURI types.String `tfsdk:"connection_uri"`
	Owner         types.String `tfsdk:"owner"`
	State         types.String `tfsdk:"state"`
	ExpiresBefore types.String `tfsdk:"expires_before"`
	Instances     types.List   `tfsdk:"instances"`
}

// Metadata names the data source.
func (d *instancesDataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_instances"
}

// Schema describes the data source.
func (d *instancesDataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "The sandboxes of a connection as they are now, whoever made them. A listing that is not complete " +
			"is an error; a sandbox whose record cannot be read is left out and told in a warning.",
		Attributes: map[string]schema.Attribute{
			"connection_uri": schema.StringAttribute{
				MarkdownDescription: "Where the sandboxes live, such as `local:`, or the `uri` of a `sandbox_connection`.",
				Required:            true,
				Validators:          []validator.String{isConnectionURI},
			},
			"owner": schema.StringAttribute{
				MarkdownDescription: "Only sandboxes of this owner.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
			},
			"state": schema.StringAttribute{
				MarkdownDescription: "Only sandboxes in this state: `starting`, `running`, `idle`, `stopping`, `failed`, `ended` or `unknown`.",
				Optional:            true,
				Validators:          []validator.String{stringvalidator.OneOf(stateWords()...)},
			},
			"expires_before": schema.StringAttribute{
				MarkdownDescription: "Only sandboxes that end before this moment, as RFC 3339. One whose end is not known is left out.",
				Optional:            true,
				Validators:          []validator.String{isMoment},
			},
			"instances": schema.ListNestedAttribute{
				MarkdownDescription: "The sandboxes, sorted by handle.",
				Computed:            true,
				NestedObject:        schema.NestedAttributeObject{Attributes: instanceDataAttributes()},
			},
		},
	}
}

func stateWords() []string {
	var words []string
	for state := sandbox.Unknown; state <= sandbox.Ended; state++ {
		words = append(words, state.String())
	}
	return words
}

// Read lists the connection.
func (d *instancesDataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var model instancesModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &model)...)
	if resp.Diagnostics.HasError() {
		return
	}
	conn := d.connections.openAttribute(model.ConnectionURI, &resp.Diagnostics)
	if conn == nil {
		return
	}
	found := model.list(ctx, conn, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	instances, diags := types.ListValueFrom(ctx, types.ObjectType{AttrTypes: instanceDataType}, found)
	resp.Diagnostics.Append(diags...)
	model.Instances = instances
	resp.Diagnostics.Append(resp.State.Set(ctx, &model)...)
}

// list reads the whole connection and keeps what matches.
func (m instancesModel) list(ctx context.Context, conn *Connection, diags *diag.Diagnostics) []instanceData {
	matching := []instanceData{}
	all, err := conn.Snapshot.All(ctx)
	if err != nil {
		addError(diags, fmt.Sprintf("Sandboxes on %q cannot be listed completely", conn.Location()), err)
		return nil
	}
	for _, found := range all {
		var err error
		if !found.TagsKnown && found.Problem == "" {
			found, err = conn.Backend.Get(ctx, found.Ref) // a filter must not take unknown tags for none
		}
		switch {
		case errors.Is(err, backend.ErrNotFound): // gone meanwhile
		case err != nil:
			addError(diags, fmt.Sprintf("Sandbox %s on %q cannot be read", found.Handle, conn.Location()), err)
			return nil
		case found.Problem != "":
			diags.AddWarning(fmt.Sprintf("Sandbox %s on %q cannot be read", found.Handle, conn.Location()), found.Problem)
		case m.matches(found):
			matching = append(matching, instanceDataOf(found))
		}
	}
	return matching
}

func (m instancesModel) matches(found sandbox.Sandbox) bool {
	if !m.Owner.IsNull() && found.Tags[airflow.TagOwner] != m.Owner.ValueString() {
		return false
	}
	if !m.State.IsNull() && found.State.String() != m.State.ValueString() {
		return false
	}
	if !m.ExpiresBefore.IsNull() {
		end := endOf(found)
		return !end.IsZero() && end.Before(moment(timetypes.RFC3339{StringValue: m.ExpiresBefore}))
	}
	return true
}
