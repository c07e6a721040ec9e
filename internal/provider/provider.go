// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package provider registers what package resources holds under the name
// "sandbox".
package provider

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/resources"
)

// Address is the provider's source address without a registry's host.
const Address = "taskowned/sandbox"

var (
	_ provider.Provider              = (*sandboxProvider)(nil)
	_ provider.ProviderWithFunctions = (*sandboxProvider)(nil)
)

type sandboxProvider struct {
	version string
	clock   clock.Clock
	options connect.Options
}

// New returns a maker of providers that tell the time by clk and open
// connections with options.
func New(version string, clk clock.Clock, options connect.Options) func() provider.Provider {
	return func() provider.Provider {
		return &sandboxProvider{version: version, clock: clk, options: options}
	}
}

func (p *sandboxProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "sandbox"
	resp.Version = p.version
}

func (p *sandboxProvider) Schema(_ context.Context, _ provider.SchemaRequest, resp *provider.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Declares sandboxes in which code written by a model may run: where they live, " +
			"what they may reach, how long they last, and who owns them.",
		Attributes: map[string]schema.Attribute{"credentials": credentialsAttribute()},
	}
}

type providerModel struct {
	Credentials types.Map `tfsdk:"credentials"`
}

// Configure hands out connections that have opened nothing yet.
func (p *sandboxProvider) Configure(ctx context.Context, req provider.ConfigureRequest, resp *provider.ConfigureResponse) {
	var config providerModel
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	options := p.options
	options.Sets = sets(config.Credentials, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	connections := resources.NewConnections(p.clock, options)
	resp.ResourceData = connections
	resp.DataSourceData = connections
}

func (p *sandboxProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{
		resources.NewConnectionResource,
		resources.NewImageResource,
		resources.NewNetworkPolicyResource,
		resources.NewInstanceResource,
	}
}

func (p *sandboxProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		resources.NewInstanceDataSource,
		resources.NewInstancesDataSource,
	}
}

func (p *sandboxProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{
		resources.NewDagRunOwnerFunction,
		resources.NewNetworkPolicyTagFunction,
		resources.NewAirflowConnectionFunction,
	}
}
