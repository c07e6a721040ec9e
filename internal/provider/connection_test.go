// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

func TestOtherSettingsOfAConnectionDoNotReplaceASandbox(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: w.connected()},
		resource.TestStep{
			Config: strings.Replace(w.connected(), "local =", "deployment = \"prod\"\n  local =", 1),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("sandbox_connection.here", plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction(it, plancheck.ResourceActionUpdate),
			}},
			Check: w.tagged(map[string]any{"taskowned_deployment": "prod"}),
		},
	)
}

func TestAnotherLocationReplacesConnectionAndSandbox(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: w.connected()},
		resource.TestStep{
			Config: strings.ReplaceAll(w.connected(), w.dir, w.dir+".next"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("sandbox_connection.here", plancheck.ResourceActionReplace),
				plancheck.ExpectResourceAction(it, plancheck.ResourceActionReplace),
			}},
			Check: func(*terraform.State) error {
				if left := w.sandboxes(); len(left) > 0 {
					t.Errorf("the old place still has %v", left)
				}
				return nil
			},
		},
	)
}

func TestDestroyingAConnectionForgetsItAndRemovesNothing(t *testing.T) {
	w := newWorld(t)
	alone := strings.Split(w.connected(), `resource "sandbox_instance"`)[0]
	w.run(
		resource.TestStep{Config: w.connected()},
		resource.TestStep{
			Config: w.instance(),
			Check:  func(*terraform.State) error { w.only(); return nil },
		},
		resource.TestStep{Config: alone},
		resource.TestStep{
			ResourceName:      "sandbox_connection.here",
			ImportState:       true,
			ImportStateId:     w.uri(),
			ImportStateVerify: true, ImportStateVerifyIdentifierAttribute: "uri",
		},
	)
}

func TestConnectionToALostDirectoryIsAnErrorAndNotGone(t *testing.T) {
	w := newWorld(t)
	alone := strings.Split(w.connected(), `resource "sandbox_instance"`)[0]
	w.run(
		resource.TestStep{Config: alone},
		resource.TestStep{
			PreConfig:   func() { rename(t, w.dir, w.dir+".away") },
			Config:      alone,
			ExpectError: regexp.MustCompile(`(?s)does\s+not\s+exist.*stays\s+in\s+the\s+state.*terraform\s+state\s+rm`),
		},
		resource.TestStep{
			PreConfig:        func() { rename(t, w.dir+".away", w.dir) },
			Config:           alone,
			ConfigPlanChecks: emptyPlan(),
		},
	)
}
