// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestImportByIDFindsTheSameSandbox(t *testing.T) {
	w := newWorld(t)
	config := w.instance(`owner = "terraform:a"`, `tags = { a = "1" }`, `workdir = "/data"`, `network_policy = { block_network = false }`)
	id := func(*terraform.State) (string, error) { return w.uri() + "#" + w.only().Handle, nil }
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			ResourceName: it, ImportState: true, ImportStateIdFunc: id, ImportStateVerify: true,
			ImportStateVerifyIdentifierAttribute: "handle",
		},
		resource.TestStep{
			Config: config, ResourceName: it, ImportState: true, ImportStateIdFunc: id,
			ImportStateKind:    resource.ImportBlockWithID, // demands an empty plan
			ExpectNonEmptyPlan: true,
		},
		resource.TestStep{
			ResourceName: it, ImportState: true, ImportStateId: w.uri() + "#nobody",
			ExpectError: regexp.MustCompile(`(?s)Cannot\s+import\s+non-existent`),
		},
		resource.TestStep{
			ResourceName: it, ImportState: true, ImportStateId: w.uri(),
			ExpectError: regexp.MustCompile(`is\s+not\s+LOCATION#HANDLE`),
		},
	)
}

// What a sandbox was born with cannot be read back. An import believes the
// configuration, instead of replacing what was just taken over.
func TestImportedSandboxIsAdoptedInPlace(t *testing.T) {
	w := newWorld(t)
	w.prepare()
	spec := sandbox.Spec{Lifetime: time.Hour, Env: map[string]string{"A": "1"}}
	made, err := backend.Create(t.Context(), w.backend(), backend.NewRequest(spec, nil, w.clock.Now()))
	if err != nil {
		t.Fatal(err)
	}
	config := w.instance(`env = { A = "1" }`, `image = "host"`)
	w.run(
		resource.TestStep{
			Config: config, ResourceName: it, ImportState: true, ImportStateId: w.uri() + "#" + made.Handle,
			ImportStatePersist: true,
		},
		resource.TestStep{
			Config:           config,
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check:            w.tagged(map[string]any{"taskowned_managed_by": "terraform", "airflow_workdir": "/workspace"}),
		},
		resource.TestStep{
			Config:           w.instance(`image = "host"`),
			ConfigPlanChecks: planned(plancheck.ResourceActionReplace),
		},
	)
}
