// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"net/url"
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
	Local        types.Object `tfsdk:"local"`
	Deployment   types.String `tfsdk:"deployment"`
	URI          types.String `tfsdk:"uri"`
	Location     types.String `tfsdk:"location"`
	Kind         types.String `tfsdk:"kind"`
	Identity     types.String `tfsdk:"identity"`
	Capabilities types.Object `tfsdk:"capabilities"`
}

type connectionIdentity struct {
	Location types.String `tfsdk:"location"`
}

var localType = map[string]attr.Type{"directory": types.StringType}

// directory is the local state directory: null for the user's own.
func (m connectionModel) directory() types.String {
	if m.Local.IsUnknown() {
		return types.StringUnknown()
	}
	directory, _ := m.Local.Attributes()["directory"].(types.String)
	return directory
}

// known reports whether the URI follows from what is known.
func (m connectionModel) known() bool {
	return !m.directory().IsUnknown() && !m.Deployment.IsUnknown()
}

// uri writes the connection as a URI, which must still be parsed.
func (m connectionModel) uri() string {
	u := url.URL{Scheme: "local"}
	if directory := m.directory().ValueString(); directory != "" {
		u.Host, u.Path, u.OmitHost = "", directory, false
	}
	if deployment := m.Deployment.ValueString(); deployment != "" {
		u.RawQuery = url.Values{"deployment": {deployment}}.Encode()
	}
	return u.String()
}

// connectionFromURI is the reverse of uri.
func connectionFromURI(uri string) (connectionModel, error) {
	conn, err := connect.Parse(uri)
	if err != nil {
		return connectionModel{}, err
	}
	return connectionModel{
		Local:        types.ObjectValueMust(localType, map[string]attr.Value{"directory": stringOrNull(conn.Path)}),
		Deployment:   stringOrNull(conn.Deployment()),
		Capabilities: types.ObjectNull(capabilitiesType),
	}, nil
}

// describe sets what follows from the configuration: the URI, its parts, and
// the capabilities. It does no I/O.
func (r *connectionResource) describe(m *connectionModel, diags *diag.Diagnostics) bool {
	conn, err := r.connections.Open(m.uri())
	if err != nil {
		diags.AddAttributeError(path.Root("local"), "Connection cannot be opened", err.Error())
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
