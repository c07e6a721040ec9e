// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"slices"
	"strings"
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
	newWorld(t).run(resource.TestStep{
		Config: `resource "sandbox_network_policy" "it" {
  block_network         = false
  allow_egress_to       = ["ok.example.org"]
  allow_egress_to_cidrs = ["203.0.113.0/24"]
}`,
		PlanOnly:    true,
		ExpectError: regexp.MustCompile(`(?s)Contradictory\s+network\s+policy.*block_network\s+=\s+false`),
	})
}

// validated is what the provider says of a policy, as "PATH: TEXT".
func (w *world) validated(block *bool, hosts, cidrs []any) []string {
	w.t.Helper()
	texts := tftypes.List{ElementType: tftypes.String}
	list := func(entries []any) tftypes.Value {
		var values []tftypes.Value
		for _, entry := range entries {
			values = append(values, tftypes.NewValue(tftypes.String, entry))
		}
		return tftypes.NewValue(texts, values)
	}
	attributes := tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"block_network": tftypes.Bool, "allow_egress_to": texts, "allow_egress_to_cidrs": texts, "tag": tftypes.String,
	}}
	written, err := tfprotov6.NewDynamicValue(attributes, tftypes.NewValue(attributes, map[string]tftypes.Value{
		"block_network":         tftypes.NewValue(tftypes.Bool, block),
		"allow_egress_to":       list(hosts),
		"allow_egress_to_cidrs": list(cidrs),
		"tag":                   tftypes.NewValue(tftypes.String, nil),
	}))
	if err != nil {
		w.t.Fatal(err)
	}
	server, err := w.factories()["sandbox"]()
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := server.ValidateResourceConfig(w.t.Context(), &tfprotov6.ValidateResourceConfigRequest{TypeName: "sandbox_network_policy", Config: &written})
	if err != nil {
		w.t.Fatal(err)
	}
	var all []string
	for _, diagnostic := range resp.Diagnostics {
		all = append(all, diagnostic.Attribute.String()+": "+diagnostic.Detail)
	}
	slices.Sort(all)
	return all
}

func TestPolicyErrorsPointAtTheListElementAndSayWhatToDo(t *testing.T) {
	w := newWorld(t)
	open := false
	for name, row := range map[string]struct {
		block        *bool
		hosts, cidrs []any
		want         []string // regular expressions, sorted by path
	}{
		"fine":          {nil, []any{"ok.example.org", "*.example.org"}, []any{"192.0.2.0/24"}, nil},
		"open":          {&open, nil, nil, nil},
		"unknown entry": {nil, []any{tftypes.UnknownValue, "ok.example.org"}, []any{tftypes.UnknownValue}, nil},
		"several": {nil, []any{"ok.example.org", "10.0.0.1"}, []any{"192.0.2.0/24", "192.0.2.1", "::1"}, []string{
			`^AttributeName\("allow_egress_to"\)\.ElementKeyInt\(1\): .*allow_egress_to_cidrs`,
			`^AttributeName\("allow_egress_to_cidrs"\)\.ElementKeyInt\(2\): .*IPv6`,
		}},
		"one label":           {nil, []any{"localhost"}, nil, []string{`ElementKeyInt\(0\): .*needs a dot`}},
		"newline":             {nil, []any{"ok.example.org\n"}, nil, []string{`ElementKeyInt\(0\): .*cannot be part`}},
		"254 characters":      {nil, []any{strings.Repeat("a.", 126) + "bc"}, nil, []string{`ElementKeyInt\(0\): .*253`}},
		"null entry":          {nil, []any{nil}, nil, []string{`AttributeName\("allow_egress_to"\).*: .*null`}},
		"host bits":           {nil, nil, []any{"203.0.113.1/24"}, []string{`ElementKeyInt\(0\): .*203\.0\.113\.0/24`}},
		"everything":          {nil, nil, []any{"0.0.0.0/0"}, []string{`ElementKeyInt\(0\): .*block_network = false`}},
		"contradiction":       {&open, []any{"ok.example.org"}, nil, []string{`^AttributeName\("block_network"\): .*remove the lists`}},
		"perhaps contradicts": {&open, []any{tftypes.UnknownValue}, nil, nil},
	} {
		got := w.validated(row.block, row.hosts, row.cidrs)
		matches := len(got) == len(row.want)
		for i := 0; matches && i < len(got); i++ {
			matches = regexp.MustCompile(row.want[i]).MatchString(got[i])
		}
		if !matches {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
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
output "deny"  { value = provider::sandbox::network_policy_tag({}) }
output "conn"  { value = provider::sandbox::airflow_connection("modal:", { token_id = "ak-1", token_secret = "as-1" }).uri }`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownOutputValue("conn", knownvalue.StringExact("modal://ak-1:as-1@/?environment=main")),
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
			ExpectError:     regexp.MustCompile(`cannot\s+be\s+a\s+run\s+id`),
		},
		resource.TestStep{
			Config:      `output "conn" { value = provider::sandbox::airflow_connection("modal:", { token_id = "ak-1", token_secret = null }).json }`,
			ExpectError: regexp.MustCompile(`token_secret\s+is\s+empty`),
		},
		resource.TestStep{
			Config: `
variable "secret" {
  default   = "as-1"
  sensitive = true
}
output "conn" { value = provider::sandbox::airflow_connection("modal:", { token_id = "ak-1", token_secret = var.secret }).json }`,
			ExpectError: regexp.MustCompile(`(?s)Output\s+refers\s+to\s+sensitive\s+values`),
		},
		resource.TestStep{
			Config:      `output "tag" { value = provider::sandbox::network_policy_tag({ allow_egress_to = ["a.example.org", "10.0.0.1"] }) }`,
			ExpectError: regexp.MustCompile(`(?s)allow_egress_to\[1\].*is\s+an\s+address`),
		},
	)
}
