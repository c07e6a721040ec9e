// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// plansDeployment demands that the marker is known when planning, and that the
// plan is about it.
func plansDeployment(action plancheck.ResourceActionType, want knownvalue.Check) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction(it, action),
		plancheck.ExpectKnownValue(it, tfjsonpath.New("deployment"), want),
	}}
}

func TestDeploymentOfASandboxFollowsItsOwnWordAndThenTheConnection(t *testing.T) {
	w := newModalWorld(t)
	w.place += "&deployment=prod"
	same := statecheck.CompareValue(compare.ValuesSame())
	handle := func() []statecheck.StateCheck {
		return []statecheck.StateCheck{same.AddStateValue(it, tfjsonpath.New("handle"))}
	}
	marked := func(marker any) resource.TestCheckFunc {
		return w.tagged(map[string]any{"taskowned_deployment": marker, "airflow_owner": "terraform:a"})
	}
	const owner = "owner = \"terraform:a\"\n  on_held = \"kill\"" // so that a failed step ends
	w.run(
		resource.TestStep{
			Config:            w.instance(owner),
			ConfigPlanChecks:  plansDeployment(plancheck.ResourceActionCreate, knownvalue.StringExact("prod")),
			ConfigStateChecks: handle(),
			Check:             marked("prod"),
		},
		resource.TestStep{
			PreConfig:         w.held(task),
			Config:            w.instance(owner, `deployment = "staging"`),
			ConfigPlanChecks:  plansDeployment(plancheck.ResourceActionUpdate, knownvalue.StringExact("staging")),
			ConfigStateChecks: handle(),
			Check: w.tagged(map[string]any{
				"taskowned_deployment": "staging", "airflow_owner": "terraform:a", "airflow_holder": task,
			}),
		},
		resource.TestStep{
			PreConfig:         w.retag(func(tags sandbox.Tags) { tags[sandbox.TagDeployment] = "another"; delete(tags, "airflow_holder") }),
			Config:            w.instance(owner, `deployment = "staging"`),
			ConfigPlanChecks:  plansDeployment(plancheck.ResourceActionUpdate, knownvalue.StringExact("staging")),
			ConfigStateChecks: handle(),
			Check:             marked("staging"),
		},
		resource.TestStep{
			Config:            w.instance(owner),
			ConfigPlanChecks:  plansDeployment(plancheck.ResourceActionUpdate, knownvalue.StringExact("prod")),
			ConfigStateChecks: handle(),
			Check:             marked("prod"),
		},
	)
}

func TestAMarkerThatNobodyDeclaredIsTakenAway(t *testing.T) {
	w := newModalWorld(t)
	w.run(
		resource.TestStep{
			Config:           w.instance(),
			ConfigPlanChecks: plansDeployment(plancheck.ResourceActionCreate, knownvalue.Null()),
			Check:            w.tagged(map[string]any{"taskowned_deployment": nil}),
		},
		resource.TestStep{
			PreConfig:        w.retag(func(tags sandbox.Tags) { tags[sandbox.TagDeployment] = "prod" }),
			Config:           w.instance(),
			ConfigPlanChecks: plansDeployment(plancheck.ResourceActionUpdate, knownvalue.Null()),
			Check:            w.tagged(map[string]any{"taskowned_deployment": nil}),
		},
	)
}

func TestADeploymentMayBeKnownOnlyWhenApplied(t *testing.T) {
	w := newWorld(t)
	config := func(marker string) string {
		return `resource "terraform_data" "marker" { input = "` + marker + `" }` + w.instance(`deployment = terraform_data.marker.output`)
	}
	w.run(
		resource.TestStep{
			Config: config("prod"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectUnknownValue(it, tfjsonpath.New("deployment")),
			}},
			Check: w.tagged(map[string]any{"taskowned_deployment": "prod"}),
		},
		resource.TestStep{
			Config:           config("staging"),
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check:            w.tagged(map[string]any{"taskowned_deployment": "staging"}),
		},
	)
}

func TestAConnectionKnownOnlyWhenAppliedStampsItsDeployment(t *testing.T) {
	w := newWorld(t)
	place := `resource "terraform_data" "place" { input = "` + w.uri() + `?deployment=prod" }
resource "sandbox_instance" "it" {
  connection_uri = terraform_data.place.output
  lifetime       = "1h"
}`
	w.run(resource.TestStep{
		Config: place,
		ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectUnknownValue(it, tfjsonpath.New("deployment")),
		}},
		Check: w.tagged(map[string]any{"taskowned_deployment": "prod"}),
	})
}

func TestADeploymentThatNoJanitorCouldNameIsRefused(t *testing.T) {
	w := newWorld(t)
	for _, marker := range []string{"", "a b", "-prod"} {
		w.run(resource.TestStep{
			Config:      w.instance(`deployment = "` + marker + `"`),
			PlanOnly:    true,
			ExpectError: regexp.MustCompile(`deployment\s+must\s+be\s+1\s+to\s+63\s+letters`),
		})
	}
}
