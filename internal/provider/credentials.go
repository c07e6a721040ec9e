// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
)

// credentialsAttribute is the map of named credential sets: in each one object
// for every vendor that has accounts, with that vendor's fields.
func credentialsAttribute() schema.MapNestedAttribute {
	vendors := map[string]schema.Attribute{}
	for _, vendor := range connect.Vendors() {
		if len(vendor.CredentialFields) == 0 {
			continue
		}
		fields := map[string]schema.Attribute{}
		for _, field := range vendor.CredentialFields {
			fields[field] = schema.StringAttribute{
				MarkdownDescription: fmt.Sprintf("`%s` of an account at %s.", field, vendor.Name),
				Required:            true,
				Sensitive:           true,
			}
		}
		vendors[vendor.Name] = schema.SingleNestedAttribute{
			MarkdownDescription: fmt.Sprintf("An account for `%s:` connections.", vendor.Schemes[0]),
			Optional:            true,
			Attributes:          fields,
		}
	}
	return schema.MapNestedAttribute{
		MarkdownDescription: "Named sets of credentials, which connections ask for by `credentials = NAME`. They are kept in no " +
			"plan and no state, so ephemeral values are welcome. A set that is not here is taken from variables that bear its " +
			"name, such as `PROD_MODAL_TOKEN_ID`; a named set never falls back to another one.",
		Optional:     true,
		NestedObject: schema.NestedAttributeObject{Attributes: vendors},
		Validators:   []validator.Map{mapvalidator.KeysAre(credentialsName{})},
	}
}

// credentialsName is what a set may be called.
type credentialsName struct{}

func (credentialsName) Description(context.Context) string {
	return "must be the name of a credential set"
}

func (v credentialsName) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (credentialsName) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if err := connect.CheckCredentialsName(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Not the name of a credential set", err.Error())
	}
}

// sets reads the configured credentials. What is not known yet is an error that
// names where it stands: no set is taken for another one, or for none.
func sets(configured types.Map, diags *diag.Diagnostics) connect.Sets {
	at := path.Root("credentials")
	if configured.IsUnknown() {
		unknownCredentials(at, diags)
	}
	all := connect.Sets{}
	for name, value := range configured.Elements() {
		set := map[string]backend.Credentials{}
		for vendor, account := range parts(value, at.AtMapKey(name), diags) {
			if account.IsNull() {
				continue
			}
			at := at.AtMapKey(name).AtName(vendor)
			set[vendor] = backend.Credentials{}
			for field, secret := range parts(account, at, diags) {
				if secret.IsUnknown() {
					unknownCredentials(at.AtName(field), diags)
				}
				if text, ok := secret.(types.String); ok && !text.IsNull() {
					set[vendor][field] = text.ValueString()
				}
			}
		}
		all[name] = set
	}
	return all
}

// parts are the attributes of an object.
func parts(value attr.Value, at path.Path, diags *diag.Diagnostics) map[string]attr.Value {
	object, _ := value.(types.Object)
	if object.IsUnknown() {
		unknownCredentials(at, diags)
	}
	return object.Attributes()
}

func unknownCredentials(at path.Path, diags *diag.Diagnostics) {
	diags.AddAttributeError(at, "Credentials are not known yet", fmt.Sprintf(
		"%s is known only after another resource was applied, but planning needs it to look at what is there. Take it from a "+
			"variable, from an ephemeral resource or from the environment, or first apply what it comes from with "+
			"`terraform apply -target=ADDRESS`.", at))
}
