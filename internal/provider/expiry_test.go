// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func emptyPlan() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
}

func TestRenewalIsOneUpdateInPlaceAndQuietBeforeAndAfter(t *testing.T) {
	w := newWorld(t)
	config := w.instance(`renew_before = "20m"`)
	handle := statecheck.CompareValue(compare.ValuesSame())
	kept := func() statecheck.StateCheck { return handle.AddStateValue(it, tfjsonpath.New("handle")) }
	renewed := w.clock.Now().Add(40*time.Minute + time.Hour).Truncate(time.Second)
	w.run(
		resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{kept()}},
		resource.TestStep{
			PreConfig:        func() { w.clock.Advance(40*time.Minute - time.Second) },
			Config:           config,
			ConfigPlanChecks: emptyPlan(),
		},
		resource.TestStep{
			PreConfig: func() { w.clock.Advance(time.Second) },
			Config:    config,
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(it, plancheck.ResourceActionUpdate),
				plancheck.ExpectUnknownValue(it, tfjsonpath.New("expires_at")),
			}},
			ConfigStateChecks: []statecheck.StateCheck{
				kept(), attribute("expires_at", knownvalue.StringExact(renewed.Format(time.RFC3339))),
			},
			Check: w.tagged(map[string]any{"airflow_expires_at": itoa(renewed.Unix())}),
		},
		resource.TestStep{Config: config, ConfigPlanChecks: emptyPlan()},
	)
}

func TestRaisedRenewBeforeActsInTheSameApply(t *testing.T) {
	w := newWorld(t)
	renewed := w.clock.Now().Add(30*time.Minute + time.Hour).Truncate(time.Second)
	w.run(
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			PreConfig: func() { w.clock.Advance(30 * time.Minute) },
			Config:    w.instance(`renew_before = "40m"`),
			ConfigStateChecks: []statecheck.StateCheck{
				attribute("expires_at", knownvalue.StringExact(renewed.Format(time.RFC3339))),
			},
		},
	)
}

func TestSandboxPastItsEndIsReplacedSoThatItIsDestroyed(t *testing.T) {
	w := newWorld(t)
	handle := statecheck.CompareValue(compare.ValuesDiffer())
	w.run(
		resource.TestStep{
			Config:            w.instance(`renew_before = "20m"`),
			ConfigStateChecks: []statecheck.StateCheck{handle.AddStateValue(it, tfjsonpath.New("handle"))},
		},
		resource.TestStep{
			PreConfig:         func() { w.clock.Advance(time.Hour) },
			Config:            w.instance(`renew_before = "20m"`),
			ConfigPlanChecks:  planned(plancheck.ResourceActionReplace),
			ConfigStateChecks: []statecheck.StateCheck{handle.AddStateValue(it, tfjsonpath.New("handle"))},
			Check:             func(*terraform.State) error { w.only(); return nil },
		},
	)
}

func TestGoneSandboxIsPlannedAnew(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			PreConfig: func() {
				if err := w.backend().Destroy(t.Context(), w.only().Ref); err != nil {
					t.Fatal(err)
				}
			},
			Config:           w.instance(),
			ConfigPlanChecks: planned(plancheck.ResourceActionCreate),
		},
	)
}

func TestSandboxMarkedForTeardownIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			PreConfig:        w.retag(func(tags sandbox.Tags) { tags[sandbox.TagTeardownAt] = "1796054400" }),
			Config:           w.instance(),
			ConfigPlanChecks: planned(plancheck.ResourceActionReplace),
		},
	)
}

func TestFailedDestroyKeepsTheStateAndMarksTheSandbox(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			PreConfig:   w.failing("destroy"),
			Config:      w.instance(),
			Destroy:     true,
			ExpectError: regexp.MustCompile(`(?s)was\s+not\s+destroyed.*the\s+disk\s+said\s+no.*stays\s+in\s+the\s+state\s+and\s+is\s+marked\s+for\s+teardown`),
		},
		resource.TestStep{
			PreConfig: func() {
				w.failing("")()
				if err := w.tagged(map[string]any{"taskowned_teardown_at": itoa(w.clock.Now().Unix())})(nil); err != nil {
					t.Error(err)
				}
			},
			Config:           w.instance(),
			ConfigPlanChecks: planned(plancheck.ResourceActionReplace),
		},
	)
}
