// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// timeoutsAttribute is the library's, but for what that lets pass: a time below
// zero, which would run out before anything is tried.
func timeoutsAttribute() schema.Attribute {
	attributes, attrTypes := map[string]schema.Attribute{}, map[string]attr.Type{}
	for name, description := range map[string]string{
		"create": "Time allowed to make the sandbox, such as `5m`.",
		"update": "Time allowed to change the sandbox, such as `5m`.",
		"delete": "Time allowed to destroy the sandbox, such as `15m`. It counts once it has been applied.",
	} {
		attrTypes[name] = types.StringType
		attributes[name] = schema.StringAttribute{
			MarkdownDescription: description,
			Optional:            true,
			Validators:          []validator.String{isPositiveDuration},
		}
	}
	return schema.SingleNestedAttribute{
		Optional:   true,
		Attributes: attributes,
		CustomType: timeouts.Type{ObjectType: types.ObjectType{AttrTypes: attrTypes}},
	}
}
