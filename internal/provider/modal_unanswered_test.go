// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// A call that has taken effect, or not, and is never answered, ends with the
// timeouts of the resource. What is answered ends in time on a busy machine, too.
const brief = `timeouts = { create = "5s", update = "5s", delete = "5s" }`

// inBothOutcomes runs a test with a call that took effect, and with one that did not.
func inBothOutcomes(t *testing.T, test func(w *world, after bool)) {
	t.Parallel()
	for name, after := range map[string]bool{"it took effect": true, "it did not": false} {
		t.Run(name, func(t *testing.T) { test(newModalWorld(t), after) })
	}
}

func TestCreateThatIsNotAnsweredEndsInTimeAndLeavesNothing(t *testing.T) {
	inBothOutcomes(t, func(w *world, after bool) {
		config := w.instance(`owner = "terraform:a"`, brief)
		heal := func() {}
		w.run(
			resource.TestStep{
				PreConfig:   func() { heal = w.unanswered("SandboxCreateV2", after) },
				Config:      config,
				ExpectError: words("was not created"),
			},
			resource.TestStep{
				PreConfig: func() {
					heal()
					if left := w.sandboxes(); len(left) > 0 {
						w.t.Errorf("%v is left", left)
					}
				},
				Config: config,
			},
		)
	})
}

func TestRotationThatIsNotAnsweredLeavesTheOldSandboxAsItWas(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `renew_before = "20m"`, brief)
	var before sandbox.Sandbox
	heal := func() {}
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig: func() {
				w.ending(10 * time.Minute)()
				before, heal = w.only(), w.unanswered("SandboxCreateV2", true)
			},
			Config:      config,
			ExpectError: words("was not renewed; it stands as it was"),
		},
		resource.TestStep{
			PreConfig: func() {
				heal()
				w.unchanged(before)
			},
			Config: config,
			Check:  w.rotated,
		},
	)
}

func TestDestroyThatIsNotAnsweredKeepsTheMarkAndTheStateOrIsDone(t *testing.T) {
	inBothOutcomes(t, func(w *world, after bool) {
		config := w.instance(`owner = "terraform:a"`, brief)
		heal := func() {}
		steps := []resource.TestStep{{Config: config}, {
			PreConfig: func() { heal = w.unanswered("SandboxTerminateV2", after) },
			Config:    config,
			Destroy:   true,
			Check:     func(s *terraform.State) error { heal(); return w.nothingStands(s) },
		}}
		if !after {
			steps[1].Check = nil
			steps[1].ExpectError = regexp.MustCompile(`(?s)was\s+not\s+destroyed.*` + spaced("is marked for teardown"))
			steps = append(steps, resource.TestStep{
				PreConfig:        func() { heal() },
				Config:           config,
				ConfigPlanChecks: planned(plancheck.ResourceActionReplace),
			})
		}
		w.run(steps...)
	})
}

func TestChangeOfTagsThatIsNotAnsweredIsMadeAgain(t *testing.T) {
	inBothOutcomes(t, func(w *world, after bool) {
		config := func(owner string) string { return w.instance(`owner = "`+owner+`"`, brief) }
		heal := func() {}
		w.run(
			resource.TestStep{Config: config("terraform:a")},
			resource.TestStep{
				PreConfig:   func() { heal = w.unanswered("SandboxTagsSetV2", after) },
				Config:      config("terraform:b"),
				ExpectError: words("was not wholly updated"),
			},
			resource.TestStep{
				PreConfig: func() { heal() },
				Config:    config("terraform:b"),
				Check:     w.tagged(map[string]any{"airflow_owner": "terraform:b"}),
			},
		)
	})
}
