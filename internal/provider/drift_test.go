// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestDriftIsRepairedAndForeignTagsAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	config := w.instance(`owner = "terraform:a"`, `tags = { a = "1", b = "2" }`)
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig:        w.retag(func(tags sandbox.Tags) { tags["foreign"], tags["airflow_holder"] = "yes", "etl/run/task" }),
			Config:           config,
			ConfigPlanChecks: emptyPlan(),
		},
		resource.TestStep{
			PreConfig: w.retag(func(tags sandbox.Tags) {
				delete(tags, "a")
				tags["b"], tags["airflow_owner"] = "changed", "somebody"
				tags["airflow_network"] = `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":false}`
			}),
			Config:           config,
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check: w.tagged(map[string]any{
				"a": "1", "b": "2", "airflow_owner": "terraform:a", "foreign": "yes", "airflow_holder": "etl/run/task",
				"airflow_network": `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`,
			}),
		},
		resource.TestStep{
			PreConfig: w.retag(func(tags sandbox.Tags) {
				tags["airflow_network"] = "not JSON"
				delete(tags, "airflow_expires_at")
				delete(tags, "taskowned_managed_by")
			}),
			Config:           config,
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check: w.tagged(map[string]any{
				"airflow_network":      `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`,
				"airflow_expires_at":   itoa(w.clock.Now().Unix() + 3600),
				"taskowned_managed_by": "terraform",
			}),
		},
	)
}

// What means the same is not drift: a policy is compared by meaning.
func TestOtherBytesOfTheSamePolicyAreNoDrift(t *testing.T) {
	w := newWorld(t)
	w.run(
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			PreConfig: w.retag(func(tags sandbox.Tags) {
				tags["airflow_network"] = `{"block_network": true, "allow_egress_to": [], "allow_egress_to_cidrs": []}`
			}),
			Config:           w.instance(),
			ConfigPlanChecks: emptyPlan(),
		},
	)
}

func TestLostStateDirectoryIsAnErrorAndNothingIsForgotten(t *testing.T) {
	w := newWorld(t)
	away := w.dir + ".away"
	w.run(
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			PreConfig:   func() { rename(t, w.dir, away) },
			Config:      w.instance(),
			ExpectError: regexp.MustCompile(`(?s)cannot\s+be\s+read.*does\s+not\s+exist.*terraform\s+state\s+rm\s+ADDRESS`),
		},
		resource.TestStep{
			PreConfig:        func() { rename(t, away, w.dir) },
			Config:           w.instance(),
			ConfigPlanChecks: emptyPlan(),
		},
	)
}

func TestAnotherStateDirectoryIsAnErrorThatNamesBoth(t *testing.T) {
	w := newWorld(t)
	away, other := w.dir+".away", w.dir+".other"
	w.run(
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			PreConfig: func() {
				rename(t, w.dir, away)
				w.prepare()
			},
			Config:      w.instance(),
			ExpectError: regexp.MustCompile(`(?s)now\s+reaches\s+"\w+",\s+but\s+the\s+state\s+was\s+made\s+at\s+"\w+"`),
		},
		resource.TestStep{
			PreConfig: func() {
				rename(t, w.dir, other)
				rename(t, away, w.dir)
			},
			Config:           w.instance(),
			ConfigPlanChecks: emptyPlan(),
		},
	)
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
