// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Command schema prints the provider's schemas in the form of "terraform
// providers schema -json", which tfplugindocs reads. It asks the provider
// itself, so that the documentation is the same whichever Terraform is
// installed: an older one leaves out what it does not know, such as identities.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/provider"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "schema:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	server, err := providerserver.NewProtocol6WithError(provider.New("docs", clock.System(), connect.Options{})())()
	if err != nil {
		return err
	}
	schemas, err := read(ctx, server)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(document{"1.0", map[string]providerSchemas{"sandbox": schemas}})
}
