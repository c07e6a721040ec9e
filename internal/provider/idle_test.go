// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/taskowned/terraform-provider-sandbox/internal/resources"
)

// idleProvider is the real provider with a sandbox_instance that does nothing
// when it is read: what a plan costs at least.
type idleProvider struct{ provider.Provider }

func (p idleProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource {
		return idleInstance{resources.NewInstanceResource().(instance)}
	}}
}

// instance is all that Terraform can ask of a sandbox_instance.
type instance interface {
	resource.ResourceWithConfigure
	resource.ResourceWithValidateConfig
	resource.ResourceWithModifyPlan
}

type idleInstance struct{ instance }

func (idleInstance) Read(context.Context, resource.ReadRequest, *resource.ReadResponse) {}
