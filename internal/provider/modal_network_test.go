// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestNetworkTagThatWasDamagedOnModalIsRepairedWhereTerraformMadeTheSandbox(t *testing.T) {
	w := newModalWorld(t)
	w.run(
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			PreConfig:        w.retag(func(tags sandbox.Tags) { tags["airflow_network"] = "not JSON" }),
			Config:           w.instance(),
			ConfigPlanChecks: planned(plancheck.ResourceActionUpdate),
			Check:            w.tagged(map[string]any{"airflow_network": `{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`}),
		},
	)
}

// Airflow stamps no policy on a sandbox that it makes without one, and its network
// is open.
func TestImportedModalSandboxIsNotCalledBlockedWhereNoTagTellsOfIt(t *testing.T) {
	w := newModalWorld(t)
	made := w.foreign(sandbox.Spec{Lifetime: time.Hour, Network: sandbox.NetworkPolicy{Open: true}}, nil)
	w.run(
		resource.TestStep{
			Config: w.instance(), ResourceName: it, ImportState: true, ImportStateId: w.uri() + "#" + made.Handle,
			ImportStatePersist: true,
		},
		resource.TestStep{
			Config:      w.instance(),
			ExpectError: words("no tag tells which network policy it was born with"),
		},
	)
}
