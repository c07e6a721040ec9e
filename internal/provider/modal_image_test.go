// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// counted counts the calls of the provider's to Modal, by name, from now on.
func (w *world) counted() func(verb string) int {
	var mu sync.Mutex
	var verbs []string
	w.caller.Intercept = func(ctx context.Context, call backend.Call, attempt func(context.Context) error) error {
		mu.Lock()
		verbs = append(verbs, call.Verb)
		mu.Unlock()
		return attempt(ctx)
	}
	return func(verb string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		for _, v := range verbs {
			if v == verb {
				n++
			}
		}
		return n
	}
}

func TestSameDefinitionIsOneImageAndIsNotBuiltTwice(t *testing.T) {
	w := newModalWorld(t)
	one := w.image("python:3.12-slim", `dockerfile_commands = ["RUN pip install pandas"]`)
	count := w.counted()
	built := 0
	w.run(
		resource.TestStep{
			Config: one + strings.Replace(one, `"it"`, `"twin"`, 1),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.CompareValuePairs(image, tfjsonpath.New("reference"), "sandbox_image.twin", tfjsonpath.New("reference"), compare.ValuesSame()),
			},
			Check: func(*terraform.State) error { built = count("ImageGetOrCreate"); return nil },
		},
		resource.TestStep{
			Config:           one,
			ConfigPlanChecks: imagePlanned(plancheck.ResourceActionNoop),
			Check: func(*terraform.State) error {
				if again := count("ImageGetOrCreate"); built == 0 || again != built {
					t.Errorf("asked for %d builds, and then for %d", built, again)
				}
				return nil
			},
		},
	)
}

func TestLoginAndSecretsOfABuildAreInNoStateAndAnotherVersionBuildsAgain(t *testing.T) {
	w := newModalWorld(t)
	config := func(user, version string) string {
		return w.image("registry.example.org/team/base:1", `dockerfile_commands = ["RUN pip install private"]`,
			`registry_username = "`+user+`"`, `registry_password_wo = "hunter2"`,
			`secrets_wo = { INDEX_TOKEN = "hush" }`, `secrets_wo_version = `+version)
	}
	w.run(
		resource.TestStep{Config: config("robot", "1"), ConfigStateChecks: []statecheck.StateCheck{
			statecheck.ExpectKnownValue(image, tfjsonpath.New("registry_password_wo"), knownvalue.Null()),
			statecheck.ExpectKnownValue(image, tfjsonpath.New("secrets_wo"), knownvalue.Null()),
		}},
		resource.TestStep{Config: config("other", "1"), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectResourceAction(image, plancheck.ResourceActionUpdate),
			plancheck.ExpectKnownValue(image, tfjsonpath.New("reference"), knownvalue.NotNull()),
		}}},
		resource.TestStep{Config: config("other", "2"), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectResourceAction(image, plancheck.ResourceActionUpdate),
			plancheck.ExpectUnknownValue(image, tfjsonpath.New("reference")),
		}}},
	)
}

func TestPublishedNameMovesWithTheImageAndBuildsNothing(t *testing.T) {
	w := newModalWorld(t)
	config := func(name, command string) string {
		return w.image("python:3.12-slim", `dockerfile_commands = ["`+command+`"]`, `publish = "`+name+`"`) +
			w.instance("image = sandbox_image.it.reference")
	}
	count := w.counted()
	published := func(want int) resource.TestCheckFunc {
		return func(*terraform.State) error {
			if got := count("ImagePublish"); got != want {
				t.Errorf("published %d times, want %d", got, want)
			}
			return nil
		}
	}
	w.run(
		resource.TestStep{Config: config("no/such name", "RUN true"), PlanOnly: true, ExpectError: words("refuses publish")},
		resource.TestStep{Config: config("analysis:stable", "RUN true"), Check: published(1)},
		resource.TestStep{Config: config("analysis:latest", "RUN true"), Check: published(2), ConfigPlanChecks: resource.ConfigPlanChecks{
			PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(image, plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction(it, plancheck.ResourceActionNoop), // no sandbox dies for a name
			},
		}},
		resource.TestStep{Config: config("analysis:latest", "RUN echo"), Check: published(3)},
	)
}

// A policy changes in place where the result is as strong as at birth; where it
// would be weaker, the sandbox is replaced.
func TestNetworkPolicyOnModalChangesInPlaceOnlyWhereItHoldsAsAtBirth(t *testing.T) {
	w := newModalWorld(t)
	w.place += "&egress_enforcement=sni"
	editor, ok := w.backend().(backend.NetworkEditor)
	if !ok {
		t.Fatal("the policies of Modal's sandboxes cannot be changed")
	}
	policies := map[string]sandbox.NetworkPolicy{
		`{}`:                        {},
		`{ block_network = false }`: {Open: true},
		`{ allow_egress_to_cidrs = ["203.0.113.0/24"] }`: {AllowEgressToCIDRs: []string{"203.0.113.0/24"}},
		`{ allow_egress_to = ["packages.example.org"] }`: {AllowEgressTo: []string{"packages.example.org"}},
	}
	from := `{ allow_egress_to_cidrs = ["203.0.113.0/24"] }`
	steps := []resource.TestStep{{Config: w.instance("network_policy = " + from)}}
	var seen []plancheck.ResourceActionType
	for _, to := range []string{`{ block_network = false }`, `{ allow_egress_to = ["packages.example.org"] }`, `{}`, `{ allow_egress_to_cidrs = ["203.0.113.0/24"] }`} {
		action := plancheck.ResourceActionReplace
		if editor.CanSetNetwork(policies[from], policies[to]) {
			action = plancheck.ResourceActionUpdate
		}
		seen = append(seen, action)
		steps = append(steps, resource.TestStep{Config: w.instance("network_policy = " + to), ConfigPlanChecks: planned(action)})
		from = to
	}
	if !slices.Contains(seen, plancheck.ResourceActionReplace) || !slices.Contains(seen, plancheck.ResourceActionUpdate) {
		t.Errorf("the steps are all alike: %v", seen)
	}
	w.run(steps...)
}
