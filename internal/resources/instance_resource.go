// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
)

var (
	_ resource.ResourceWithConfigure      = (*instanceResource)(nil)
	_ resource.ResourceWithValidateConfig = (*instanceResource)(nil)
	_ resource.ResourceWithModifyPlan     = (*instanceResource)(nil)
	_ resource.ResourceWithImportState    = (*instanceResource)(nil)
	_ resource.ResourceWithIdentity       = (*instanceResource)(nil)
)

// defaultTimeout bounds create, update and delete unless the timeouts attribute
// says otherwise.
const defaultTimeout = 10 * time.Minute

// NewInstanceResource makes the resource sandbox_instance.
func NewInstanceResource() resource.Resource { return &instanceResource{} }

// instanceResource is one sandbox that stands until its end.
type instanceResource struct{ configured }

// Metadata names the resource.
func (r *instanceResource) Metadata(_ context.Context, req resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_instance"
	resp.ResourceBehavior.MutableIdentity = true // a rotation changes the handle
}

// IdentitySchema says what tells two sandboxes apart.
func (r *instanceResource) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"location": identityschema.StringAttribute{RequiredForImport: true, Description: "The connection's location, such as local:"},
		"handle":   identityschema.StringAttribute{RequiredForImport: true, Description: "The backend's id of the sandbox"},
	}}
}

// ValidateConfig checks what concerns several attributes at once.
func (r *instanceResource) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config instanceModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	validateRenewal(config, &resp.Diagnostics)
	validateEnv(config, &resp.Diagnostics)
	if object := config.NetworkPolicy; !object.IsNull() && !object.IsUnknown() {
		checkPolicy(policyModelOf(object), path.Root("network_policy").AtName, &resp.Diagnostics)
	}
}

// validateRenewal: a renewal that is due at birth would make every apply renew.
func validateRenewal(config instanceModel, diags *diag.Diagnostics) {
	lifetime, before := duration(config.Lifetime), duration(config.RenewBefore)
	if lifetime > 0 && before >= lifetime {
		diags.AddAttributeError(path.Root("renew_before"), "renew_before is not shorter than lifetime",
			fmt.Sprintf("A sandbox of %s would be due for renewal from its first moment, and every apply would renew it. "+
				"Make renew_before (%s) shorter than lifetime, or lifetime longer.", lifetime, before))
	}
}

// validateEnv: of two values for one variable, nobody could tell which holds.
func validateEnv(config instanceModel, diags *diag.Diagnostics) {
	var twice []string
	for key := range config.EnvWO.Elements() {
		if _, ok := config.Env.Elements()[key]; ok {
			twice = append(twice, key)
		}
	}
	slices.Sort(twice)
	for _, key := range twice {
		diags.AddAttributeError(path.Root("env_wo"), "Variable given twice",
			fmt.Sprintf("%q stands in env and in env_wo. Remove it from one of them.", key))
	}
}
