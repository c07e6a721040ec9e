// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

const policy = "sandbox_network_policy.it"

// tagPlanned demands that the policy's tag is known before anything is applied.
func tagPlanned(action plancheck.ResourceActionType, tag string) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction(policy, action),
		plancheck.ExpectKnownValue(policy, tfjsonpath.New("tag"), knownvalue.StringExact(tag)),
	}}
}

func TestPolicyTagIsKnownOnTheFirstPlanAndFollowsTheLists(t *testing.T) {
	newWorld(t).run(
		resource.TestStep{
			Config:           `resource "sandbox_network_policy" "it" {}`,
			ConfigPlanChecks: tagPlanned(plancheck.ResourceActionCreate, `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(policy, tfjsonpath.New("block_network"), knownvalue.Bool(true)),
			},
		},
		resource.TestStep{
			Config: `resource "sandbox_network_policy" "it" {
  allow_egress_to       = ["z.example.org", "*.a.example.org"]
  allow_egress_to_cidrs = ["203.0.113.7"]
}`,
			ConfigPlanChecks: tagPlanned(plancheck.ResourceActionUpdate,
				`{"allow_egress_to":["z.example.org","*.a.example.org"],"allow_egress_to_cidrs":["203.0.113.7"],"block_network":true}`),
		},
		resource.TestStep{
			Config:           `resource "sandbox_network_policy" "it" { block_network = false }`,
			ConfigPlanChecks: tagPlanned(plancheck.ResourceActionUpdate, `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":false}`),
		},
	)
}

func TestPolicyIsRefusedWhenPlanningWhereItIsWritten(t *testing.T) {
	for name, row := range map[string]struct{ config, says string }{
		"hostname":      {`allow_egress_to = ["ok.example.org", "localhost"]`, `allow_egress_to\[1\]|has only one label`},
		"newline":       {`allow_egress_to = ["ok.example.org\n"]`, `(?s)cannot be part`},
		"null entry":    {`allow_egress_to = [null]`, `(?s)[Nn]ull`},
		"range":         {`allow_egress_to_cidrs = ["203.0.113.1/24"]`, `(?s)host bits set.*203.0.113.0/24`},
		"everything":    {`allow_egress_to_cidrs = ["0.0.0.0/0"]`, `(?s)block_network\s+=\s+false`},
		"contradiction": {"block_network = false\n allow_egress_to = [\"a.example.org\"]", `(?s)Contradictory network policy`},
	} {
		t.Run(name, func(t *testing.T) {
			newWorld(t).run(resource.TestStep{
				Config:      "resource \"sandbox_network_policy\" \"it\" {\n" + row.config + "\n}",
				PlanOnly:    true,
				ExpectError: regexp.MustCompile(row.says),
			})
		})
	}
}

func TestPolicyIsQuietWhileItIsUnknown(t *testing.T) {
	newWorld(t).run(resource.TestStep{
		Config: `
resource "terraform_data" "later" { input = "late.example.org" }
resource "sandbox_network_policy" "it" {
  allow_egress_to = ["ok.example.org", terraform_data.later.output]
}`,
		ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectUnknownValue(policy, tfjsonpath.New("tag")),
		}},
		ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownValue(policy, tfjsonpath.New("tag"),
				knownvalue.StringExact(`{"allow_egress_to":["ok.example.org","late.example.org"],"allow_egress_to_cidrs":[],"block_network":true}`)),
		},
	})
}

func TestWholePolicyIsGivenToAnInstance(t *testing.T) {
	w := newWorld(t)
	w.run(resource.TestStep{
		Config: `resource "sandbox_network_policy" "it" { block_network = false }` +
			w.instance(`network_policy = sandbox_network_policy.it`),
		Check: w.tagged(map[string]any{"airflow_network": `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":false}`}),
	})
}

func TestFunctionsAreCalledFromConfigurations(t *testing.T) {
	newWorld(t).run(
		resource.TestStep{
			Config: `
variable "run" { default = "manual__2026-10-05T00:00:00+00:00" }
output "owner" { value = provider::sandbox::dag_run_owner("etl", var.run) }
output "tag"   { value = provider::sandbox::network_policy_tag({ allow_egress_to = ["a.example.org"] }) }
output "deny"  { value = provider::sandbox::network_policy_tag({}) }`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownOutputValue("owner", knownvalue.StringExact("etl/manual__2026-10-05T00:00:00+00:00")),
				statecheck.ExpectKnownOutputValue("tag", knownvalue.StringExact(`{"allow_egress_to":["a.example.org"],"allow_egress_to_cidrs":[],"block_network":true}`)),
				statecheck.ExpectKnownOutputValue("deny", knownvalue.StringExact(`{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`)),
			},
		},
		resource.TestStep{
			Config: `
variable "run" {}
output "owner" { value = provider::sandbox::dag_run_owner("etl", var.run) }`,
			ConfigVariables: config.Variables{"run": config.StringVariable("my run")},
			ExpectError:     regexp.MustCompile(`(?s)cannot be a run\s+id`),
		},
		resource.TestStep{
			Config:      `output "tag" { value = provider::sandbox::network_policy_tag({ allow_egress_to = ["a.example.org", "10.0.0.1"] }) }`,
			ExpectError: regexp.MustCompile(`(?s)allow_egress_to\[1\].*is\s+an\s+address`),
		},
	)
}
