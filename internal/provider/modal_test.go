// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

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
  credentials     = "lab"
  deployment      = "airflow-prod"
  airflow_conn_id = "modal_prod"
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
			plancheck.ExpectKnownValue(here, tfjsonpath.New("airflow_conn_id"), knownvalue.StringExact("modal_prod")),
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

// A GPU is had only by a sandbox of the first generation, whose calls are others.
func TestSandboxWithAGPULivesFromCreateToDestroy(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`gpu = "T4"`, `owner = "terraform:a"`, `renew_before = "20m"`)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			Config:           strings.Replace(config, "terraform:a", "terraform:b", 1),
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check:            w.tagged(map[string]any{"airflow_owner": "terraform:b"}),
		},
		resource.TestStep{PreConfig: w.ending(10 * time.Minute), Config: config, Check: w.rotated},
	)
}

// Connections of one app with other settings lead to the same sandboxes.
func TestDestroyingAModalConnectionOnlyForgets(t *testing.T) {
	w := newModalWorld(t)
	connection := func(settings string) string {
		return "resource \"sandbox_connection\" \"here\" {\n  credentials = \"lab\"\n  modal = { " + settings + " }\n}\n"
	}
	w.run(
		resource.TestStep{Config: connection("") + w.instance()},
		resource.TestStep{
			Config: connection(`egress_enforcement = "sni"`) + w.instance(),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("sandbox_connection.here", plancheck.ResourceActionUpdate),
			}},
		},
		resource.TestStep{
			ResourceName: "sandbox_connection.here", ImportState: true, ImportStateId: "modal:?credentials=lab&egress_enforcement=sni",
			ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "uri",
		},
		resource.TestStep{Config: w.instance(), Check: func(*terraform.State) error { w.only(); return nil }},
	)
}
