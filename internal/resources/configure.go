// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
)

// configured is embedded by every resource. Its connections are nil while
// Terraform only validates.
type configured struct{ connections *Connections }

// Configure receives the provider's connections.
func (c *configured) Configure(_ context.Context, req resource.ConfigureRequest, resp *resource.ConfigureResponse) {
	c.connections = fromProvider(req.ProviderData, &resp.Diagnostics)
}

// configuredDataSource is embedded by every data source.
type configuredDataSource struct{ connections *Connections }

// Configure receives the provider's connections.
func (c *configuredDataSource) Configure(_ context.Context, req datasource.ConfigureRequest, resp *datasource.ConfigureResponse) {
	c.connections = fromProvider(req.ProviderData, &resp.Diagnostics)
}

func fromProvider(data any, diags *diag.Diagnostics) *Connections {
	if data == nil {
		return nil
	}
	connections, ok := data.(*Connections)
	if !ok {
		diags.AddError("Unexpected provider data",
			fmt.Sprintf("The provider handed over %T. This is a bug in the provider.", data))
	}
	return connections
}
