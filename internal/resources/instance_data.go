// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// instanceData is what a data source tells of one sandbox, whoever made it.
type instanceData struct {
	Handle        types.String      `tfsdk:"handle"`
	Name          types.String      `tfsdk:"name"`
	State         types.String      `tfsdk:"state"`
	Owner         types.String      `tfsdk:"owner"`
	Holder        types.String      `tfsdk:"holder"`
	Deployment    types.String      `tfsdk:"deployment"`
	Workdir       types.String      `tfsdk:"workdir"`
	NetworkPolicy types.Object      `tfsdk:"network_policy"`
	Tags          types.Map         `tfsdk:"tags"`
	CreatedAt     timetypes.RFC3339 `tfsdk:"created_at"`
	ExpiresAt     timetypes.RFC3339 `tfsdk:"expires_at"`
}

var instanceDataType = map[string]attr.Type{
	"handle":         types.StringType,
	"name":           types.StringType,
	"state":          types.StringType,
	"owner":          types.StringType,
	"holder":         types.StringType,
	"deployment":     types.StringType,
	"workdir":        types.StringType,
	"network_policy": types.ObjectType{AttrTypes: networkPolicyType},
	"tags":           types.MapType{ElemType: types.StringType},
	"created_at":     timetypes.RFC3339Type{},
	"expires_at":     timetypes.RFC3339Type{},
}

// instanceDataAttributes are the computed attributes of one sandbox.
func instanceDataAttributes() map[string]schema.Attribute {
	word := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true}
	}
	moment := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: timetypes.RFC3339Type{}}
	}
	return map[string]schema.Attribute{
		"handle":     word("The backend's id of the sandbox."),
		"name":       word("The name it was created with."),
		"state":      word("One of `starting`, `running`, `idle`, `stopping`, `failed`, `ended` and `unknown`."),
		"owner":      word("Who may attach; null: nobody may."),
		"holder":     word("Who is attached right now; null: nobody is."),
		"deployment": word("Marker of the Airflow deployment that it is made for; null: it bears none."),
		"workdir":    word("Absolute path inside in which commands start; null: not recorded."),
		"network_policy": schema.SingleNestedAttribute{
			MarkdownDescription: "What its tags say it may reach; null: not recorded, or unreadable.",
			Computed:            true,
			Attributes: map[string]schema.Attribute{
				"block_network": schema.BoolAttribute{
					MarkdownDescription: "Everything that the lists do not allow is denied.",
					Computed:            true,
				},
				"allow_egress_to": schema.ListAttribute{
					MarkdownDescription: "Hostnames that may be reached.",
					Computed:            true,
					ElementType:         types.StringType,
				},
				"allow_egress_to_cidrs": schema.ListAttribute{
					MarkdownDescription: "IPv4 addresses and ranges that may be reached.",
					Computed:            true,
					ElementType:         types.StringType,
				},
			},
		},
		"tags": schema.MapAttribute{
			MarkdownDescription: "All its tags, whoever wrote them; null: the backend does not tell.",
			Computed:            true,
			ElementType:         types.StringType,
		},
		"created_at": moment("When it was made, as RFC 3339; null: the backend does not tell."),
		"expires_at": moment("When it ends, as RFC 3339: what its tags and the backend say, the earlier. Null: neither says."),
	}
}

// instanceDataOf tells what a read found.
func instanceDataOf(found sandbox.Sandbox) instanceData {
	data := instanceData{
		Handle:        types.StringValue(found.Handle),
		Name:          stringOrNull(found.Name),
		State:         types.StringValue(found.State.String()),
		Owner:         tagOrNull(found.Tags, airflow.TagOwner),
		Holder:        stringOrNull(airflow.Holder(found.Tags)),
		Deployment:    stringOrNull(found.Tags[sandbox.TagDeployment]),
		Workdir:       stringOrNull(found.Tags[airflow.TagWorkdir]),
		NetworkPolicy: types.ObjectNull(networkPolicyType),
		Tags:          types.MapNull(types.StringType),
		CreatedAt:     momentValue(found.CreatedAt),
		ExpiresAt:     momentValue(endOf(found)),
	}
	if policy, err := airflow.DecodeNetwork(found.Tags[airflow.TagNetwork]); err == nil {
		data.NetworkPolicy = policyObject(policy)
	}
	if found.TagsKnown {
		data.Tags = stringsMap(found.Tags)
	}
	return data
}

// tagOrNull tells an empty tag, which Airflow matches, from none.
func tagOrNull(tags sandbox.Tags, key string) types.String {
	value, ok := tags[key]
	return types.StringPointerValue(pointerIf(value, ok))
}
