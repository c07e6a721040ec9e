// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
)

// ImportState takes LOCATION#HANDLE, such as "local:#sb-1", or the identity.
// Settings may follow the location. Read finds out the rest, and what no backend
// tells is believed to be as configured.
func (r *instanceResource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	uri, handle, err := splitImportID(req.ID)
	if req.ID == "" {
		var identity instanceIdentity
		resp.Diagnostics.Append(req.Identity.Get(ctx, &identity)...)
		uri, handle, err = identity.Location.ValueString(), identity.Handle.ValueString(), nil
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if err != nil {
		resp.Diagnostics.AddError("Cannot import a sandbox by "+req.ID, err.Error())
		return
	}
	conn, err := connect.Parse(uri)
	if err != nil {
		resp.Diagnostics.AddError("Cannot import a sandbox from "+uri, err.Error())
		return
	}
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("connection_uri"), conn.String())...)
	resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("handle"), handle)...)
	memory{Imported: true, Adopted: true}.keep(ctx, resp.Private, &resp.Diagnostics)
}

// splitImportID cuts LOCATION#HANDLE. A location holds no "#".
func splitImportID(id string) (uri, handle string, err error) {
	uri, handle, found := strings.Cut(id, "#")
	if !found || uri == "" || handle == "" {
		return "", "", fmt.Errorf("%q is not LOCATION#HANDLE, such as local:#HANDLE or local:///var/lib/sandboxes#HANDLE", id)
	}
	return uri, handle, nil
}
