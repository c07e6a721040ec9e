// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// attachmentType is what a Dag needs to attach.
var attachmentType = map[string]attr.Type{
	"handle":     types.StringType,
	"owner":      types.StringType,
	"workdir":    types.StringType,
	"expires_at": timetypes.RFC3339Type{},
}

func attachmentAttribute() schema.SingleNestedAttribute {
	return schema.SingleNestedAttribute{
		MarkdownDescription: "What a Dag needs to attach: `SandboxToolset(attach_to=handle, owner=owner)`. Null where Airflow cannot " +
			"attach: on a connection that is not `attachable`, or without an `owner`.",
		Computed: true,
		Attributes: map[string]schema.Attribute{
			"handle":  schema.StringAttribute{MarkdownDescription: "The backend's id of the sandbox.", Computed: true},
			"owner":   schema.StringAttribute{MarkdownDescription: "The owner that the Dag must present.", Computed: true},
			"workdir": schema.StringAttribute{MarkdownDescription: "Absolute path inside in which commands start.", Computed: true},
			"expires_at": schema.StringAttribute{
				MarkdownDescription: "When the sandbox ends unless it is renewed, as RFC 3339.",
				Computed:            true,
				CustomType:          timetypes.RFC3339Type{},
			},
		},
	}
}

// attachment is what a Dag is told of m, each part as far as it is known. conn is
// nil while the connection is unknown.
func (m instanceModel) attachment(conn *Connection) types.Object {
	switch {
	case conn == nil || m.Owner.IsUnknown():
		return types.ObjectUnknown(attachmentType)
	case m.Owner.IsNull() || !conn.Backend.Capabilities().Attachable:
		return types.ObjectNull(attachmentType)
	}
	workdir := types.StringUnknown()
	if !m.Workdir.IsUnknown() {
		workdir = types.StringValue(m.workdir(conn))
	}
	return types.ObjectValueMust(attachmentType, map[string]attr.Value{
		"handle": m.Handle, "owner": m.Owner, "workdir": workdir, "expires_at": m.ExpiresAt,
	})
}
