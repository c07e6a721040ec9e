// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// analysis is the whole that a team declares: a place, an image, a policy and an
// owned sandbox.
func analysis(t *testing.T) string {
	return fmt.Sprintf(`
resource "sandbox_connection" "modal" {
  credentials = "lab"
  deployment  = "airflow-prod"
  modal       = { app_name = "analysis", workspace = %q, egress_enforcement = "sni" }
}
resource "sandbox_image" "it" {
  connection_uri      = sandbox_connection.modal.uri
  from                = "python:3.12-slim"
  dockerfile_commands = ["RUN pip install pandas pyarrow"]
}
resource "sandbox_network_policy" "registry" { allow_egress_to = ["packages.example.org"] }
resource "sandbox_instance" "it" {
  connection_uri = sandbox_connection.modal.uri
  image          = sandbox_image.it.reference
  network_policy = sandbox_network_policy.registry
  owner          = "terraform:prod/analysis"
  lifetime       = "12h"
  renew_before   = "3h"
  lifecycle { create_before_destroy = true }
}
`, workspaceOf(t))
}

func TestModalIsDeclaredWholeWithQuietPlansAndNothingLeft(t *testing.T) {
	w := newModalWorld(t)
	w.place = "modal://main/analysis?credentials=lab"
	const here = "sandbox_connection.modal"
	part := func(name string) tfjsonpath.Path { return tfjsonpath.New("attachment").AtMapKey(name) }
	w.run(resource.TestStep{
		Config: analysis(t),
		ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectKnownValue(here, tfjsonpath.New("location"), knownvalue.StringExact("modal://main/analysis")),
			plancheck.ExpectKnownValue(here, tfjsonpath.New("kind"), knownvalue.StringExact("modal")),
			plancheck.ExpectKnownValue(here, tfjsonpath.New("capabilities").AtMapKey("attachable"), knownvalue.Bool(true)),
			plancheck.ExpectUnknownValue(here, tfjsonpath.New("identity")),
			plancheck.ExpectUnknownValue(it, part("handle")),
			plancheck.ExpectUnknownValue(it, part("expires_at")),
			plancheck.ExpectKnownValue(it, part("owner"), knownvalue.StringExact("terraform:prod/analysis")),
			plancheck.ExpectKnownValue(it, part("workdir"), knownvalue.StringExact("/workspace")),
		}},
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownValue(it, part("handle"), knownvalue.NotNull()),
			statecheck.ExpectKnownValue(it, part("expires_at"), knownvalue.NotNull()),
		},
		Check: func(s *terraform.State) error {
			made := w.only()
			return w.tagged(map[string]any{
				"airflow_sandbox":      made.Name,
				"airflow_owner":        "terraform:prod/analysis",
				"airflow_workdir":      "/workspace",
				"airflow_network":      `{"allow_egress_to":["packages.example.org"],"allow_egress_to_cidrs":[],"block_network":true}`,
				"taskowned_managed_by": "terraform",
				"taskowned_deployment": "airflow-prod",
			})(s)
		},
	})
}
