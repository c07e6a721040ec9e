// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"google.golang.org/grpc/codes"

	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// tooLong is a tag's value that we take and Modal does not.
var tooLong = strings.Repeat("x", longestTag+1)

// refusal is what is said of a tag: its name, the limit in the server's words, and
// where the tag comes from.
func refusal(tag, source string) *regexp.Regexp {
	return regexp.MustCompile(`(?s)` + spaced(fmt.Sprintf("Tag '%s' is longer than %d bytes", tag, longestTag)) + `.*` +
		spaced("The tag "+tag+" comes from "+source))
}

func TestTagThatModalRefusesMakesNoSandbox(t *testing.T) {
	inBothGenerations(t, func(w *world, generation string) {
		var steps []resource.TestStep
		for tag, source := range map[string]string{"note": "tags", "airflow_owner": "owner"} {
			attribute := fmt.Sprintf("owner = %q", tooLong)
			if source == "tags" {
				attribute = fmt.Sprintf("tags = { note = %q }", tooLong)
			}
			steps = append(steps, resource.TestStep{Config: w.instance(generation, attribute), ExpectError: refusal(tag, source)})
		}
		w.run(steps...)
		if left := w.sandboxes(); len(left) > 0 {
			w.t.Errorf("%v is left", left)
		}
	})
}

func TestTagThatModalRefusesLeavesTheSandboxAndItsStateAsTheyWere(t *testing.T) {
	inBothGenerations(t, func(w *world, generation string) {
		good := w.instance(generation, `owner = "terraform:a"`, `tags = { note = "short" }`)
		var before sandbox.Sandbox
		w.run(
			resource.TestStep{Config: good},
			resource.TestStep{
				PreConfig:   func() { before = w.only() },
				Config:      strings.Replace(good, "short", tooLong, 1),
				ExpectError: refusal("note", "tags"),
			},
			resource.TestStep{
				PreConfig:   func() { w.unchanged(before) },
				Config:      strings.Replace(good, "terraform:a", tooLong, 1),
				ExpectError: refusal("airflow_owner", "owner"),
			},
			resource.TestStep{PreConfig: func() { w.unchanged(before) }, Config: good, ConfigPlanChecks: emptyPlan()},
		)
	})
}

func TestTagThatModalRefusesInARotationLeavesTheOldSandbox(t *testing.T) {
	inBothGenerations(t, func(w *world, generation string) {
		good := w.instance(generation, `owner = "terraform:a"`, `renew_before = "20m"`)
		var before sandbox.Sandbox
		w.run(
			resource.TestStep{Config: good},
			resource.TestStep{
				PreConfig:   func() { w.ending(10 * time.Minute)(); before = w.only() },
				Config:      strings.Replace(good, "terraform:a", tooLong, 1),
				ExpectError: refusal("airflow_owner", "owner"),
			},
			resource.TestStep{
				PreConfig:        func() { w.unchanged(before) },
				Config:           good,
				ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
				Check:            w.rotated,
			},
		)
	})
}

// tagsRefused lets Modal refuse every change of tags in this workspace.
func (w *world) tagsRefused() (heal func()) {
	var heals []func()
	for _, method := range []string{"SandboxTagsSet", "SandboxTagsSetV2"} {
		heals = append(heals, modalServer.Fail(method, emulator.Fault{
			Code: codes.InvalidArgument, Message: "Tag 'airflow_holder' is longer than 30 bytes", Times: -1, Workspace: workspaceOf(w.t),
		}))
	}
	return func() {
		for _, heal := range heals {
			heal()
		}
	}
}

func TestRotationWhoseMarkModalRefusesIsInTheStateAndWarns(t *testing.T) {
	inBothGenerations(t, func(w *world, generation string) {
		ws := w.workspace(w.instance(generation, `owner = "terraform:a"`, `renew_before = "20m"`))
		ws.apply()
		w.ending(10 * time.Minute)()
		old := ws.handle()
		heal := w.tagsRefused()
		out := ws.must("apply", "-auto-approve")
		heal()
		if !words("Sandbox "+old+" on \"modal:\" was replaced and could not be marked").MatchString(out) ||
			!words("Tag 'airflow_holder' is longer than 30 bytes").MatchString(out) || ws.handle() == old {
			w.t.Errorf("%s was rotated to %s:\n%s", old, ws.handle(), out)
		}
		ws.quiet()
		ws.must("destroy", "-auto-approve")
		if left := w.only(); left.Handle != old {
			w.t.Errorf("%s is left, and was not the old one", left.Handle)
		}
		ws.condemned("nothing", w.only())
	})
}

func TestSandboxWhoseTagsModalRefusesIsDestroyedUnlessATaskHoldsIt(t *testing.T) {
	inBothGenerations(t, func(w *world, generation string) {
		config := w.instance(generation, `owner = "terraform:a"`, brief)
		heal := func() {}
		w.run(
			resource.TestStep{Config: config},
			resource.TestStep{
				PreConfig:   func() { w.held(task)(); heal = w.tagsRefused() },
				Config:      config,
				Destroy:     true,
				ExpectError: words("still holds it. Nothing was destroyed"),
			},
			resource.TestStep{
				PreConfig: func() { heal(); w.held("")(); heal = w.tagsRefused() },
				Config:    config,
				Destroy:   true,
				Check:     func(s *terraform.State) error { heal(); return w.nothingStands(s) },
			},
		)
	})
}
