// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func (w *world) nothingStands(*terraform.State) error {
	for _, s := range w.sandboxes() {
		if !retired(s) {
			w.t.Errorf("%s stands, with the tags %v", s.Handle, s.Tags)
		}
	}
	return nil
}

func TestHeldSandboxIsNotKilledByADestroy(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, brief)
	var before sandbox.Tags
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig:   func() { w.held(task)(); before = w.only().Tags },
			Config:      config,
			Destroy:     true,
			ExpectError: regexp.MustCompile(`(?s)etl/scheduled__2026-11-30/load\s+still\s+holds\s+it.*Nothing\s+was\s+destroyed`),
		},
		resource.TestStep{
			PreConfig: func() {
				if after := w.only().Tags; !maps.Equal(before, after) {
					t.Errorf("the tags were %v, and are %v", before, after)
				}
				w.held("")()
			},
			Config:           config,
			ConfigPlanChecks: emptyPlan(),
		},
	)
}

func TestHeldSandboxIsNotKilledByAReplacement(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, brief)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig:   w.held(task),
			Config:      w.instance(`owner = "terraform:a"`, brief, `workdir = "/data"`),
			ExpectError: regexp.MustCompile(`(?s)still\s+holds\s+it`),
		},
		resource.TestStep{PreConfig: w.held(""), Config: config, ConfigPlanChecks: emptyPlan()},
	)
}

// The task lets go while the destroy waits: it is told so by the second look.
func TestDestroyGoesOnWhenTheTaskLetsGo(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`)
	looks := 0
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig: func() {
				w.held(task)()
				ref := w.only().Ref
				w.caller.Intercept = func(ctx context.Context, call backend.Call, attempt func(context.Context) error) error {
					if err := attempt(ctx); err != nil || call.Verb != "SandboxListV2" {
						return err
					}
					if looks++; looks == 6 {
						return backend.EditTags(ctx, w.backend(), ref, func(tags sandbox.Tags) { delete(tags, airflow.TagHolder) })
					}
					return nil
				}
			},
			Config:  config,
			Destroy: true,
			Check:   w.nothingStands,
		},
	)
}

func TestOnHeldRetireLeavesTheSandboxToItsHolderAndForgetsIt(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `on_held = "retire"`)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{PreConfig: w.held(task), Config: config, Destroy: true, Check: func(*terraform.State) error {
			if left := w.only(); !retired(left) || airflow.Holder(left.Tags) != task || left.Tags[sandbox.TagTeardownAt] != "" {
				t.Errorf("the tags are %v", left.Tags)
			}
			return nil
		}},
	)
}

func TestOnHeldKillDestroysUnderTheTask(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `on_held = "kill"`)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{PreConfig: w.held(task), Config: config, Destroy: true, Check: w.nothingStands},
	)
}

func TestFailedDestroyGivesTheClaimBackAndKeepsTheMark(t *testing.T) {
	t.Parallel()
	for name, robbed := range map[string]string{"free": "", "held and on_held = kill": task} {
		t.Run(name, func(t *testing.T) {
			w := newModalWorld(t)
			config := w.instance(`owner = "terraform:a"`, `on_held = "kill"`)
			w.run(
				resource.TestStep{Config: config},
				resource.TestStep{
					PreConfig:   func() { w.held(robbed)(); w.failing("SandboxTerminateV2")() },
					Config:      config,
					Destroy:     true,
					ExpectError: regexp.MustCompile(`(?s)was\s+not\s+destroyed.*the\s+disk\s+said\s+no.*stays\s+in\s+the\s+state\s+and\s+is\s+marked\s+for\s+teardown`),
				},
				resource.TestStep{
					PreConfig: func() {
						w.failing("")()
						if tags := w.only().Tags; airflow.Holder(tags) != robbed || tags[sandbox.TagTeardownAt] != itoa(w.clock.Now().Unix()) {
							t.Errorf("the tags are %v", tags)
						}
					},
					Config:           config,
					ConfigPlanChecks: planned(plancheck.ResourceActionReplace),
				},
			)
		})
	}
}

// Airflow refuses to attach to what is held, so that the claim must stand before
// the sandbox is told to end.
func TestClaimAndTeardownMarkAreWrittenAtOnceBeforeTheDestroy(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`)
	var seen sandbox.Tags
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig: func() {
				ref := w.only().Ref
				w.caller.Intercept = func(ctx context.Context, call backend.Call, attempt func(context.Context) error) error {
					if call.Verb == "SandboxTerminateV2" {
						found, err := w.backend().Get(ctx, ref)
						if err != nil {
							return err
						}
						seen = found.Tags
					}
					return attempt(ctx)
				}
			},
			Config:  config,
			Destroy: true,
		},
	)
	if !strings.HasPrefix(airflow.Holder(seen), "terraform:") || seen[sandbox.TagTeardownAt] == "" {
		t.Errorf("told to end with the tags %v", seen)
	}
}

// shell runs a script in a sandbox and returns what it said.
func (w *world) shell(s sandbox.Sandbox, script string) string {
	w.t.Helper()
	result, err := w.backend().Exec(w.t.Context(), s.Ref, backend.Command{Argv: []string{"sh", "-c", script}, Timeout: 20 * time.Second})
	if err != nil || result.ExitCode != 0 {
		w.t.Fatalf("exit %d, %v: %s", result.ExitCode, err, result.Stderr)
	}
	return string(result.Stdout)
}
