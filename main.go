// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Command terraform-provider-sandbox serves the provider to Terraform.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/provider"
)

var version = "dev" // set by the release build

func main() {
	debug := flag.Bool("debug", false, "serve for a debugger and print how to attach Terraform")
	flag.Parse()
	if err := serve(*debug); err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-sandbox:", err)
		os.Exit(1)
	}
}

func serve(debug bool) error {
	return providerserver.Serve(context.Background(), provider.New(version, clock.System(), connect.Options{}),
		providerserver.ServeOpts{Address: "registry.example/" + provider.Address, Debug: debug, ProtocolVersion: 6})
}
