// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// warnUnbuilt tells of a replacement whose image is made in the same apply, on a
// connection that cannot try the build beforehand. It is no error: with
// create_before_destroy, which no provider gets to see, nothing is at risk.
func warnUnbuilt(conn *Connection, differing []string, unknown map[string]bool, diags *diag.Diagnostics) {
	if conn == nil || !unknown["image"] || !slices.Contains(differing, "image") {
		return
	}
	if _, tried := dryRunner(conn); tried {
		return
	}
	diags.AddAttributeWarning(path.Root("image"), "Sandbox is replaced for an image that is not built yet", fmt.Sprintf(
		"%q cannot tell beforehand whether the image can be built. By itself Terraform destroys this sandbox first: if the build "+
			"fails then, there is none. With `lifecycle { create_before_destroy = true }` in this resource nothing is lost.",
		conn.Location()))
}
