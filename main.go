// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Command terraform-provider-sandbox serves the provider to Terraform.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/provider"
)

var version = "dev" // set by the release build

func main() {
	err := providerserver.Serve(context.Background(), provider.New(version, clock.System(), connect.Options{}),
		providerserver.ServeOpts{Address: "registry.example/" + provider.Address, ProtocolVersion: 6})
	if err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-sandbox:", err)
		os.Exit(1)
	}
}
