// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
)

type connectionModel struct {
	Local         types.Object `tfsdk:"local"`
	Modal         types.Object `tfsdk:"modal"`
	Credentials   types.String `tfsdk:"credentials"`
	Deployment    types.String `tfsdk:"deployment"`
	AirflowConnID types.String `tfsdk:"airflow_conn_id"`
	URI           types.String `tfsdk:"uri"`
	Location      types.String `tfsdk:"location"`
	Kind          types.String `tfsdk:"kind"`
	Identity      types.String `tfsdk:"identity"`
	Capabilities  types.Object `tfsdk:"capabilities"`
}

type connectionIdentity struct {
	Location types.String `tfsdk:"location"`
}

// blocks are the blocks of which a connection has exactly one, by the name of
// the vendor.
func (m *connectionModel) blocks() map[string]*types.Object {
	return map[string]*types.Object{"local": &m.Local, "modal": &m.Modal}
}

// block is the one that m has, and the vendor's name.
func (m *connectionModel) block() (vendor string, block types.Object) {
	for vendor, block := range m.blocks() {
		if !block.IsNull() {
			return vendor, *block
		}
	}
	return "", types.Object{}
}

// known reports whether the URI follows from what is known.
func (m *connectionModel) known() bool {
	for _, block := range m.blocks() {
		if block.IsUnknown() {
			return false
		}
		for _, value := range block.Attributes() {
			if value.IsUnknown() {
				return false
			}
		}
	}
	return !m.Credentials.IsUnknown() && !m.Deployment.IsUnknown()
}

// uri writes the connection as a URI, which must still be parsed.
func (m *connectionModel) uri() string {
	vendor, block := m.block()
	u := vendorBlocks[vendor].url(block)
	query := u.Query()
	for setting, value := range map[string]types.String{"credentials": m.Credentials, "deployment": m.Deployment} {
		if !value.IsNull() {
			query.Set(setting, value.ValueString())
		}
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// connectionFromURI is the reverse of uri.
func connectionFromURI(uri string) (connectionModel, error) {
	conn, err := connect.Parse(uri)
	if err != nil {
		return connectionModel{}, err
	}
	m := connectionModel{
		Credentials:  stringOrNull(conn.CredentialsName()),
		Deployment:   stringOrNull(conn.Deployment()),
		Capabilities: types.ObjectNull(capabilitiesType),
	}
	vendor := kind(conn.Scheme)
	for name, block := range m.blocks() {
		*block = types.ObjectNull(vendorBlocks[name].types)
		if name == vendor {
			*block = types.ObjectValueMust(vendorBlocks[name].types, vendorBlocks[name].values(conn))
		}
	}
	return m, nil
}

// describe sets what follows from the configuration: the URI, its parts, and
// the capabilities. It does no I/O.
func (r *connectionResource) describe(m *connectionModel, diags *diag.Diagnostics) bool {
	conn, err := r.connections.Open(m.uri())
	if err != nil {
		vendor, _ := m.block()
		diags.AddAttributeError(path.Root(vendor), "Connection cannot be opened", err.Error())
		return false
	}
	m.URI = types.StringValue(conn.String())
	m.Location = types.StringValue(conn.Location())
	m.Kind = types.StringValue(kind(conn.Scheme))
	m.Capabilities = capabilitiesObject(conn.Backend.Capabilities())
	return true
}

// kind is the name of the vendor whose scheme it is.
func kind(scheme string) string {
	for _, vendor := range connect.Vendors() {
		if slices.Contains(vendor.Schemes, scheme) {
			return vendor.Name
		}
	}
	return scheme
}

func stringOrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

var capabilitiesType = map[string]attr.Type{
	"attachable":      types.BoolType,
	"open_network":    types.BoolType,
	"block_network":   types.BoolType,
	"allow_hostnames": types.BoolType,
	"allow_cidrs":     types.BoolType,
	"lifetime_min":    timetypes.GoDurationType{},
	"lifetime_max":    timetypes.GoDurationType{},
	"server_ends":     types.BoolType,
	"tags":            types.StringType,
	"default_image":   types.StringType,
	"default_workdir": types.StringType,
}

func capabilitiesAttributes() map[string]schema.Attribute {
	can := func(description string) schema.BoolAttribute {
		return schema.BoolAttribute{MarkdownDescription: description, Computed: true}
	}
	word := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true}
	}
	span := func(description string) schema.StringAttribute {
		return schema.StringAttribute{MarkdownDescription: description, Computed: true, CustomType: timetypes.GoDurationType{}}
	}
	return map[string]schema.Attribute{
		"attachable":      can("Airflow's `SandboxToolset` can attach to its sandboxes."),
		"open_network":    can("`block_network = false` is possible."),
		"block_network":   can("Everything can be denied."),
		"allow_hostnames": can("`allow_egress_to` can be enforced."),
		"allow_cidrs":     can("`allow_egress_to_cidrs` can be enforced."),
		"lifetime_min":    span("Shortest lifetime."),
		"lifetime_max":    span("Longest lifetime; null: unlimited."),
		"server_ends":     can("The backend itself ends a sandbox at its expiry. Where it does not, run the janitor."),
		"tags":            word("When tags can be written: `none`, `at_birth` or `editable`."),
		"default_image":   word("What a missing `image` means."),
		"default_workdir": word("What a missing `workdir` means."),
	}
}

var tagSupportWords = map[backend.TagSupport]string{
	backend.NoTags:       "none",
	backend.TagsAtBirth:  "at_birth",
	backend.TagsEditable: "editable",
}

func capabilitiesObject(c backend.Capabilities) types.Object {
	longest := timetypes.NewGoDurationNull()
	if c.LifetimeMax > 0 {
		longest = timetypes.NewGoDurationValue(c.LifetimeMax)
	}
	return types.ObjectValueMust(capabilitiesType, map[string]attr.Value{
		"attachable":      types.BoolValue(c.Attachable),
		"open_network":    types.BoolValue(c.OpenNetwork),
		"block_network":   types.BoolValue(c.BlockNetwork),
		"allow_hostnames": types.BoolValue(c.AllowHostnames),
		"allow_cidrs":     types.BoolValue(c.AllowCIDRs),
		"lifetime_min":    timetypes.NewGoDurationValue(c.LifetimeMin),
		"lifetime_max":    longest,
		"server_ends":     types.BoolValue(c.ServerEnds),
		"tags":            types.StringValue(tagSupportWords[c.Tags]),
		"default_image":   stringOrNull(c.DefaultImage),
		"default_workdir": stringOrNull(c.DefaultWorkdir),
	})
}
