// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
)

// connected is an instance on a sandbox_connection of the same configuration.
func (w *world) connected(attributes ...string) string {
	return fmt.Sprintf(`
resource "sandbox_connection" "here" {
  local = { directory = %q }
}
`, w.dir) + strings.ReplaceAll(w.instance(attributes...), fmt.Sprintf("%q", w.uri()), "sandbox_connection.here.uri")
}

func TestRefusedOnTheFirstPlanBeforeAnythingExists(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{
			Config:      w.connected(`gpu = "h100"`, `network_policy = { allow_egress_to = ["packages.example.org"] }`),
			ExpectError: regexp.MustCompile(`(?s)refuses\s+gpu.*refuses\s+network_policy:\s+allow_egress_to`),
		},
		resource.TestStep{
			PreConfig: func() {
				if _, err := os.Stat(w.dir); !os.IsNotExist(err) {
					t.Errorf("something exists already: %v", err)
				}
			},
			Config:      strings.ReplaceAll(w.connected(), `"1h"`, `"1000h"`),
			ExpectError: regexp.MustCompile(`refuses\s+lifetime`),
		},
	)
}

func TestConnectionIsKnownOnTheFirstPlan(t *testing.T) {
	w := newWorld(t)
	const here = "sandbox_connection.here"
	exactly := func(name, value string) plancheck.PlanCheck {
		return plancheck.ExpectKnownValue(here, tfjsonpath.New(name), knownvalue.StringExact(value))
	}
	w.run(resource.TestStep{
		Config: w.connected(),
		ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			exactly("uri", w.uri()), exactly("location", w.uri()), exactly("kind", "local"),
			plancheck.ExpectKnownValue(here, tfjsonpath.New("capabilities").AtMapKey("allow_cidrs"), knownvalue.Bool(false)),
			plancheck.ExpectUnknownValue(here, tfjsonpath.New("identity")),
			plancheck.ExpectKnownValue(it, tfjsonpath.New("connection_uri"), knownvalue.StringExact(w.uri())),
		}},
	})
}

func TestUnknownInputsAreQuietUntilTheyAreKnown(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{
			Config: `
resource "terraform_data" "later" { input = { owner = "terraform:a", lifetime = "2h", host = "packages.example.org", open = false } }
` + strings.ReplaceAll(w.instance(
				`owner          = terraform_data.later.output.owner`,
				`renew_before   = "30m"`,
				`env            = { HOST = terraform_data.later.output.host }`,
				`network_policy = { block_network = terraform_data.later.output.open }`,
			), `"1h"`, "terraform_data.later.output.lifetime"),
			ConfigPlanChecks: planned(plancheck.ResourceActionCreate),
			Check:            w.tagged(map[string]any{"airflow_owner": "terraform:a"}),
		},
	)
}

func TestWhatWasUnknownIsRefusedBeforeItIsCreated(t *testing.T) {
	w := newWorld(t)
	w.run(resource.TestStep{
		Config: `
resource "terraform_data" "later" { input = "h100" }
` + w.instance(`gpu = terraform_data.later.output`),
		ExpectError: regexp.MustCompile(`refuses\s+gpu`),
	})
	if _, err := os.Stat(w.dir); !os.IsNotExist(err) {
		t.Errorf("something exists already: %v", err)
	}
}

func TestReplacementIsStoppedWhileARefusalCannotBeKnown(t *testing.T) {
	w := newWorld(t)
	later := func(value string) string {
		return fmt.Sprintf("resource \"terraform_data\" \"later\" { input = %s }\n", value)
	}
	w.run(
		resource.TestStep{Config: later("false") + w.instance(`network_policy = { block_network = terraform_data.later.output }`)},
		resource.TestStep{
			Config: later("true") + w.instance(`workdir = "/data"`, `network_policy = { block_network = terraform_data.later.output }`),
			ExpectError: regexp.MustCompile(
				`(?s)workdir would\s+replace\s+this\s+sandbox.*network_policy\s+is\s+known\s+only.*-target=ADDRESS`),
		},
		// The sandbox stands, and without a replacement nothing is in the way.
		resource.TestStep{
			PreConfig:        func() { w.only() },
			Config:           later("true") + w.instance(`network_policy = { block_network = terraform_data.later.output }`),
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
		},
	)
}

func TestUnknownImageMayReplace(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: `
resource "terraform_data" "image" { input = "host" }
` + w.instance(`image = terraform_data.image.output`)},
		resource.TestStep{
			Config: `
resource "terraform_data" "image" {
  input            = "host"
  triggers_replace = "again"
}
` + w.instance(`image = terraform_data.image.output`),
			ConfigPlanChecks: planned(plancheck.ResourceActionReplace),
		},
	)
}
