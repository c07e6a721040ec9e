// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// TestOfAirflowsSpecsExactlyThoseAreRefusedThatCannotBeEnforcedHere drives
// Refuse with the specs on which Airflow's own backends were asked. Local can
// cut a network or leave it open, and keeps tags as only Modal does, so that
// what has no list is judged as Modal judges it.
func TestOfAirflowsSpecsExactlyThoseAreRefusedThatCannotBeEnforcedHere(t *testing.T) {
	const typed = "not applicable: Terraform refuses a null"
	named := map[string]string{
		"env_null_value":   typed,
		"hosts_null_entry": typed,
		"block_null":       "not applicable: block_network has a default",
	}
	const stricter = "env_empty_key" // a variable without a name reaches no program
	data, err := os.ReadFile("../../airflow/testdata/spec_refusals.json")
	must(t, err)
	var table struct {
		Cases []struct {
			Name     string          `json:"name"`
			Spec     json.RawMessage `json:"spec"`
			Verdicts map[string]struct {
				Accepted bool   `json:"accepted"`
				Reason   string `json:"reason"`
			} `json:"verdicts"`
		} `json:"cases"`
	}
	must(t, json.Unmarshal(data, &table))
	h := newHost("/srv/state", &backend.Caller{}, nil)
	judged := 0
	for _, row := range table.Cases {
		// What is not of Terraform's types never comes here.
		var asked struct {
			Block bool              `json:"block_network"`
			Hosts []string          `json:"allow_egress_to"`
			CIDRs []string          `json:"allow_egress_to_cidrs"`
			Owner string            `json:"owner"`
			Env   map[string]string `json:"env"`
		}
		if _, ok := named[row.Name]; ok {
			delete(named, row.Name)
			continue
		}
		if json.Unmarshal(row.Spec, &asked) != nil {
			continue
		}
		judged++
		t.Run(row.Name, func(t *testing.T) {
			refusals := h.Refuse(sandbox.Spec{
				Lifetime: time.Hour,
				Owner:    asked.Owner,
				Env:      asked.Env,
				Network:  sandbox.NetworkPolicy{Open: !asked.Block, AllowEgressTo: asked.Hosts, AllowEgressToCIDRs: asked.CIDRs},
			})
			about := map[string]bool{}
			for _, refusal := range refusals {
				about[refusal.Attribute] = true
			}
			want := map[string]bool{}
			if len(asked.Hosts)+len(asked.CIDRs) > 0 {
				want["network_policy"] = true
			} else if !row.Verdicts["modal_sni"].Accepted {
				t.Fatalf("a reason this test does not understand: %s", row.Verdicts["modal_sni"].Reason)
			}
			if row.Name == stricter {
				want["env"] = true
			}
			if diff := cmp.Diff(want, about); diff != "" {
				t.Errorf("-airflow +ours\n%s%+v", diff, refusals)
			}
		})
	}
	if judged < 100 {
		t.Errorf("only %d of %d rows were judged", judged, len(table.Cases))
	}
	if len(named) > 0 {
		t.Errorf("the table has no such rows any more: %v", named)
	}
}
