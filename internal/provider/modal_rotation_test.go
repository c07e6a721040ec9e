// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"maps"
	"regexp"
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

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

const task = "etl/scheduled__2026-11-30/load"

// ending makes the end of the sandbox that stands come within d. The emulator's
// own clock is the machine's, so that the tag says it.
func (w *world) ending(d time.Duration) func() {
	return w.retag(func(tags sandbox.Tags) { tags[airflow.TagExpiresAt] = airflow.FormatExpiry(w.clock.Now().Add(d)) })
}

// held lets a task hold the sandbox that stands; no task lets go.
func (w *world) held(by string) func() {
	return w.retag(func(tags sandbox.Tags) {
		if delete(tags, airflow.TagHolder); by != "" {
			tags[airflow.TagHolder] = by
		}
	})
}

// rotated demands that a successor stands beside its retired predecessor.
func (w *world) rotated(*terraform.State) error {
	standing, old := 0, 0
	for _, s := range w.sandboxes() {
		if retired(s) {
			old++
		} else {
			standing++
		}
	}
	if standing != 1 || old != 1 {
		return fmt.Errorf("%d stand and %d are retired, want 1 of each", standing, old)
	}
	return nil
}

func rotation() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
		plancheck.ExpectResourceAction(it, plancheck.ResourceActionUpdate),
		plancheck.ExpectUnknownValue(it, tfjsonpath.New("handle")),
		plancheck.ExpectUnknownValue(it, tfjsonpath.New("created_at")),
		plancheck.ExpectUnknownValue(it, tfjsonpath.New("expires_at")),
		plancheck.ExpectUnknownValue(it, tfjsonpath.New("attachment").AtMapKey("handle")),
		plancheck.ExpectKnownValue(it, tfjsonpath.New("attachment").AtMapKey("owner"), knownvalue.StringExact("terraform:a")),
	}}
}

func TestRenewalWhereNoEndCanBeMovedIsARotationThatDependantsFollow(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `renew_before = "20m"`, `lifecycle { prevent_destroy = true }`) + `
resource "terraform_data" "dag" { input = sandbox_instance.it.attachment.handle }
`
	handle := statecheck.CompareValue(compare.ValuesDiffer())
	moved := func() statecheck.StateCheck { return handle.AddStateValue(it, tfjsonpath.New("handle")) }
	follows := func() statecheck.StateCheck {
		return statecheck.CompareValuePairs(it, tfjsonpath.New("handle"), "terraform_data.dag", tfjsonpath.New("output"), compare.ValuesSame())
	}
	w.run(
		resource.TestStep{Config: config, ConfigStateChecks: []statecheck.StateCheck{moved(), follows()}},
		resource.TestStep{
			PreConfig:        w.ending(20*time.Minute + 2*time.Second),
			Config:           config,
			ConfigPlanChecks: emptyPlan(),
		},
		resource.TestStep{
			PreConfig:         w.ending(20 * time.Minute),
			Config:            config,
			ConfigPlanChecks:  rotation(),
			ConfigStateChecks: []statecheck.StateCheck{moved(), follows()},
			Check:             w.rotated,
		},
		resource.TestStep{Config: config, ConfigPlanChecks: emptyPlan()},
		resource.TestStep{Config: strings.Replace(config, "prevent_destroy = true", "", 1)},
	)
}

func TestRenewalWaitsWithoutADiffWhileATaskHoldsTheSandbox(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `renew_before = "20m"`)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig:        func() { w.held(task)(); w.ending(10 * time.Minute)() },
			Config:           config,
			ConfigPlanChecks: emptyPlan(),
		},
		resource.TestStep{PreConfig: w.held(""), Config: config, ConfigPlanChecks: rotation(), Check: w.rotated},
	)
}

func TestLongerLifetimeRotatesAtOnceAndLeavesTheOldOneToItsHolder(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig:        w.held(task),
			Config:           strings.Replace(config, `"1h"`, `"2h"`, 1),
			ConfigPlanChecks: rotation(),
			Check: func(s *terraform.State) error {
				for _, old := range w.sandboxes() {
					if retired(old) && airflow.Holder(old.Tags) != task {
						t.Errorf("the holder is %q", airflow.Holder(old.Tags))
					}
				}
				return w.rotated(s)
			},
		},
	)
}

func TestRaisedRenewBeforeRotatesInTheSameApplyOnlyWhereThatIsDue(t *testing.T) {
	w := newModalWorld(t)
	config := func(before string) string {
		return w.instance(`owner = "terraform:a"`, fmt.Sprintf("renew_before = %q", before))
	}
	w.run(
		resource.TestStep{Config: config("10m")},
		resource.TestStep{
			PreConfig:        w.ending(30 * time.Minute),
			Config:           config("20m"),
			ConfigPlanChecks: rotation(),
			Check:            func(*terraform.State) error { w.only(); return nil },
		},
		resource.TestStep{Config: config("20m"), ConfigPlanChecks: emptyPlan()},
		resource.TestStep{Config: config("40m"), ConfigPlanChecks: rotation(), Check: w.rotated},
	)
}

func TestRotationThatCannotMakeTheNextLeavesTheOldOneAsItWas(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `renew_before = "20m"`)
	var before sandbox.Tags
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig: func() {
				w.ending(10 * time.Minute)()
				before = w.only().Tags
				w.failing("SandboxCreateV2")()
			},
			Config:      config,
			ExpectError: regexp.MustCompile(`(?s)was\s+not\s+renewed;\s+it\s+stands\s+as\s+it\s+was.*the\s+disk\s+said\s+no`),
		},
		resource.TestStep{
			PreConfig: func() {
				w.failing("")()
				if after := w.only().Tags; !maps.Equal(before, after) {
					t.Errorf("the tags were %v, and are %v", before, after)
				}
			},
			Config: config,
			Check:  w.rotated,
		},
	)
}

func TestRotationCarriesTheWriteOnlyEnvironment(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `renew_before = "20m"`, `env = { A = "1" }`,
		`env_wo = { TOKEN = "hush" }`, `env_wo_version = 1`)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig:         w.ending(10 * time.Minute),
			Config:            config,
			ConfigStateChecks: []statecheck.StateCheck{attribute("env_wo", knownvalue.Null())},
			Check: func(s *terraform.State) error {
				for _, each := range w.sandboxes() {
					if got := w.shell(each, `echo "$A $TOKEN"`); got != "1 hush\n" {
						t.Errorf("%s has %q", each.Handle, got)
					}
				}
				return w.rotated(s)
			},
		},
	)
}

func TestSandboxPastItsEndOnModalIsReplacedAndNotRotated(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `renew_before = "20m"`)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig:        w.ending(-time.Second),
			Config:           config,
			ConfigPlanChecks: planned(plancheck.ResourceActionReplace),
			Check:            func(*terraform.State) error { w.only(); return nil },
		},
	)
}
