// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
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
		"hostname":      {`allow_egress_to = ["ok.example.org", "localhost"]`, `has only one label`},
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

func TestPolicyErrorsPointAtTheListElement(t *testing.T) {
	strings := tftypes.List{ElementType: tftypes.String}
	list := func(entries ...string) tftypes.Value {
		var values []tftypes.Value
		for _, entry := range entries {
			values = append(values, tftypes.NewValue(tftypes.String, entry))
		}
		return tftypes.NewValue(strings, values)
	}
	attributes := tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"block_network": tftypes.Bool, "allow_egress_to": strings, "allow_egress_to_cidrs": strings, "tag": tftypes.String,
	}}
	written, err := tfprotov6.NewDynamicValue(attributes, tftypes.NewValue(attributes, map[string]tftypes.Value{
		"block_network":         tftypes.NewValue(tftypes.Bool, nil),
		"allow_egress_to":       list("ok.example.org", "10.0.0.1"),
		"allow_egress_to_cidrs": list("192.0.2.0/24", "192.0.2.1", "::1"),
		"tag":                   tftypes.NewValue(tftypes.String, nil),
	}))
	if err != nil {
		t.Fatal(err)
	}
	server, err := newWorld(t).factories()["sandbox"]()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: "sandbox_network_policy", Config: &written})
	if err != nil {
		t.Fatal(err)
	}
	var at []string
	for _, diagnostic := range resp.Diagnostics {
		at = append(at, diagnostic.Attribute.String())
	}
	want := []string{
		`AttributeName("allow_egress_to").ElementKeyInt(1)`,
		`AttributeName("allow_egress_to_cidrs").ElementKeyInt(2)`,
	}
	slices.Sort(at)
	if !slices.Equal(at, want) {
		t.Errorf("errors at %q, want %q", at, want)
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
