// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// vendorBlock is how a sandbox_connection writes the connections of one vendor.
type vendorBlock struct {
	types  map[string]attr.Type
	schema schema.SingleNestedAttribute
	url    func(types.Object) url.URL // of a known block
	values func(backend.Connection) map[string]attr.Value
}

var vendorBlocks = map[string]vendorBlock{"local": localBlock, "modal": modalBlock}

var localBlock = vendorBlock{
	types: map[string]attr.Type{"directory": types.StringType},
	schema: schema.SingleNestedAttribute{
		MarkdownDescription: "Sandboxes on the Linux host on which Terraform runs.",
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"directory": schema.StringAttribute{
				MarkdownDescription: "Absolute path of the state directory. Left out, the user's own. Another one replaces the connection.",
				Optional:            true,
				Validators:          []validator.String{isAbsoluteDirectory},
			},
		},
	},
	url: func(block types.Object) url.URL {
		return url.URL{Scheme: "local", Path: text(block, "directory")}
	},
	values: func(conn backend.Connection) map[string]attr.Value {
		return map[string]attr.Value{"directory": stringOrNull(conn.Path)}
	},
}

// What a modal block that leaves it out has: where Airflow's ModalSandboxBackend
// keeps its sandboxes, and how it enforces.
const (
	modalEnvironment = "main"
	modalApp         = "airflow-sandbox"
	modalEgress      = "strict"
)

// modalName is how Modal names environments, apps and workspaces.
var modalName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

var isModalName = check("a name in Modal", func(name string) error {
	if !modalName.MatchString(name) {
		return fmt.Errorf("%q must be 1 to 64 letters, digits, dots, dashes and underscores", name)
	}
	return nil
})

var modalBlock = vendorBlock{
	types: map[string]attr.Type{
		"environment": types.StringType, "app_name": types.StringType,
		"workspace": types.StringType, "egress_enforcement": types.StringType,
	},
	schema: schema.SingleNestedAttribute{
		MarkdownDescription: "Sandboxes of one Modal app.",
		Optional:            true,
		Attributes: map[string]schema.Attribute{
			"environment": schema.StringAttribute{
				MarkdownDescription: "Modal environment, `main` by default; it must exist. Another one replaces the connection.",
				Optional:            true,
				Computed:            true,
				Default:             stringdefault.StaticString(modalEnvironment),
				Validators:          []validator.String{isModalName},
			},
			"app_name": schema.StringAttribute{
				MarkdownDescription: "App in which the sandboxes live, `airflow-sandbox` by default, as in Airflow. It is created " +
					"when it is missing, and never stopped. Another one replaces the connection.",
				Optional:   true,
				Computed:   true,
				Default:    stringdefault.StaticString(modalApp),
				Validators: []validator.String{isModalName},
			},
			"workspace": schema.StringAttribute{
				MarkdownDescription: "Name of the workspace that the credentials must belong to. With those of another one nothing is done.",
				Optional:            true,
				Validators:          []validator.String{isModalName},
			},
			"egress_enforcement": schema.StringAttribute{
				MarkdownDescription: "`strict` (the default) refuses `allow_egress_to`. `sni` allows it: Modal compares the name in the " +
					"TLS handshake on port 443, and DNS stays open.",
				Optional:   true,
				Computed:   true,
				Default:    stringdefault.StaticString(modalEgress),
				Validators: []validator.String{stringvalidator.OneOf(modalEgress, "sni")},
			},
		},
	},
	url: func(block types.Object) url.URL {
		query := url.Values{}
		for _, setting := range []string{"workspace", "egress_enforcement"} {
			if value := text(block, setting); value != "" {
				query.Set(setting, value)
			}
		}
		return url.URL{Scheme: "modal", Host: text(block, "environment"), Path: "/" + text(block, "app_name"), RawQuery: query.Encode()}
	},
	values: func(conn backend.Connection) map[string]attr.Value {
		return map[string]attr.Value{
			"environment":        types.StringValue(cmp.Or(conn.Authority, modalEnvironment)),
			"app_name":           types.StringValue(cmp.Or(strings.TrimPrefix(conn.Path, "/"), modalApp)),
			"workspace":          stringOrNull(conn.Settings.Get("workspace")),
			"egress_enforcement": types.StringValue(cmp.Or(conn.Settings.Get("egress_enforcement"), modalEgress)),
		}
	},
}

// text is a string of a known block; empty when it is null.
func text(block types.Object, name string) string {
	value, _ := block.Attributes()[name].(types.String)
	return value.ValueString()
}
