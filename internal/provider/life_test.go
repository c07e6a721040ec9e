// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"strings"
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

const it = "sandbox_instance.it"

// planned demands an action on the instance.
func planned(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(it, action)}}
}

func attribute(name string, check knownvalue.Check) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(it, tfjsonpath.New(name), check)
}

func TestSmallestInstanceLivesFromCreateToDestroyWithQuietPlans(t *testing.T) {
	w := newWorld(t)
	expires := w.clock.Now().Add(time.Hour).Truncate(time.Second)
	w.run(resource.TestStep{
		Config:           w.instance(),
		ConfigPlanChecks: planned(plancheck.ResourceActionCreate),
		ConfigStateChecks: []statecheck.StateCheck{
			attribute("handle", knownvalue.NotNull()),
			attribute("created_at", knownvalue.NotNull()),
			attribute("expires_at", knownvalue.StringExact(expires.Format(time.RFC3339))),
		},
	})
}

func TestStampTellsAirflowAndTheJanitorEverything(t *testing.T) {
	w := newWorld(t)
	expires := w.clock.Now().Add(time.Hour).Unix()
	w.run(resource.TestStep{
		Config: strings.ReplaceAll(w.instance(
			`owner   = "etl/scheduled__2026-11-30"`,
			`workdir = "/data"`,
			`tags    = { team = "research" }`,
			`network_policy = { block_network = false }`,
		), w.uri(), w.uri()+"?deployment=prod"),
		Check: func(s *terraform.State) error {
			made := w.only()
			return w.tagged(map[string]any{
				"airflow_sandbox":      made.Name,
				"airflow_owner":        "etl/scheduled__2026-11-30",
				"airflow_expires_at":   itoa(expires),
				"airflow_network":      `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":false}`,
				"airflow_workdir":      "/data",
				"taskowned_managed_by": "terraform",
				"taskowned_deployment": "prod",
				"taskowned_attempt":    strings.TrimPrefix(made.Name, "taskowned-"),
				"team":                 "research",
			})(s)
		},
	})
}

func TestUpdateInPlaceKeepsTheSandboxAndForeignTags(t *testing.T) {
	w := newWorld(t)
	handle := statecheck.CompareValue(compare.ValuesSame())
	w.run(
		resource.TestStep{
			Config:            w.instance(`owner = "terraform:a"`, `tags = { a = "1", b = "2" }`),
			ConfigStateChecks: []statecheck.StateCheck{handle.AddStateValue(it, tfjsonpath.New("handle"))},
		},
		resource.TestStep{
			PreConfig: w.retag(func(tags sandbox.Tags) { tags["airflow_holder"], tags["foreign"] = "etl/run/task", "yes" }),
			Config: strings.ReplaceAll(strings.ReplaceAll(w.instance(
				`tags           = { a = "3" }`,
				`renew_before   = "30m"`,
				`network_policy = { block_network = false }`,
				`timeouts       = { delete = "1m" }`,
			), w.uri(), w.uri()+"?deployment=prod"), `"1h"`, `"2h"`),
			ConfigPlanChecks:  planned(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{handle.AddStateValue(it, tfjsonpath.New("handle"))},
			Check: w.tagged(map[string]any{
				"airflow_owner": nil, "a": "3", "b": nil, "foreign": "yes", "airflow_holder": "etl/run/task",
				"taskowned_deployment": "prod",
				"airflow_network":      `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":false}`,
				"airflow_expires_at":   itoa(w.clock.Now().Add(2 * time.Hour).Unix()),
			}),
		},
		resource.TestStep{
			Config:            w.instance(),
			ConfigPlanChecks:  planned(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{handle.AddStateValue(it, tfjsonpath.New("handle"))},
			Check: w.tagged(map[string]any{
				"a": nil, "foreign": "yes", "taskowned_deployment": nil,
				"airflow_network": `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`,
				// A shorter lifetime counts from the next renewal.
				"airflow_expires_at": itoa(w.clock.Now().Add(2 * time.Hour).Unix()),
			}),
		},
	)
}

func TestSameDurationInOtherWordsChangesNothing(t *testing.T) {
	w := newWorld(t)
	var before string
	w.run(
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			PreConfig: func() { before = w.record() },
			Config:    strings.ReplaceAll(w.instance(), `"1h"`, `"60m"`),
			Check: func(*terraform.State) error {
				if after := w.record(); after != before {
					return fmt.Errorf("the record was %s, and is %s", before, after)
				}
				return nil
			},
		},
	)
}

func TestWhatASandboxIsBornWithReplacesIt(t *testing.T) {
	w := newWorld(t)
	handle := statecheck.CompareValue(compare.ValuesDiffer())
	w.run(
		resource.TestStep{Config: w.instance(), ConfigStateChecks: []statecheck.StateCheck{handle.AddStateValue(it, tfjsonpath.New("handle"))}},
		resource.TestStep{
			Config:            w.instance(`workdir = "/data"`, `env = { A = "1" }`),
			ConfigPlanChecks:  planned(plancheck.ResourceActionReplace),
			ConfigStateChecks: []statecheck.StateCheck{handle.AddStateValue(it, tfjsonpath.New("handle"))},
		},
	)
}

func TestWriteOnlyEnvReachesTheSandboxAndNotTheState(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{
			Config: w.instance(`env = { A = "1" }`, `env_wo = { TOKEN = "hush" }`, `env_wo_version = 1`),
			ConfigStateChecks: []statecheck.StateCheck{
				attribute("env_wo", knownvalue.Null()),
			},
			Check: func(*terraform.State) error { return w.envOf(map[string]string{"A": "1", "TOKEN": "hush"}) },
		},
		resource.TestStep{
			Config: w.instance(`env = { A = "1" }`, `env_wo = { TOKEN = "other" }`, `env_wo_version = 1`),
			ConfigPlanChecks: resource.ConfigPlanChecks{
				PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
			},
		},
		resource.TestStep{
			Config:           w.instance(`env = { A = "1" }`, `env_wo = { TOKEN = "other" }`, `env_wo_version = 2`),
			ConfigPlanChecks: planned(plancheck.ResourceActionReplace),
			Check:            func(*terraform.State) error { return w.envOf(map[string]string{"A": "1", "TOKEN": "other"}) },
		},
	)
}
