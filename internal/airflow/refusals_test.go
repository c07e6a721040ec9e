// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// TestPolicyIsRefusedWhereAirflowsStrictestBackendRefusesIt reads the verdicts
// of Modal with egress_enforcement="sni" on whole specs.
func TestPolicyIsRefusedWhereAirflowsStrictestBackendRefusesIt(t *testing.T) {
	const typed = "not applicable: Terraform refuses a value of that type before we see it"
	notApplicable := except(map[string]string{ // by name, or by a part of the name
		"no_spec":              "not applicable: without a policy we have one that denies everything",
		"hosts_one_string":     typed,
		"hosts_empty_string":   typed,
		"hosts_number_entry":   typed,
		"hosts_null_entry":     typed,
		"cidrs_one_string":     typed,
		"cidrs_empty_string":   typed,
		"cidrs_number_entry":   typed,
		"block_null":           typed,
		"block_zero":           typed,
		"block_one":            typed,
		"block_string_false":   typed,
		"block_null_with_cidr": typed,
		"block_one_with_cidr":  typed,
	})
	stricter := except(map[string]string{
		"hosts_trailing_newline": "no name has a line break: Airflow passes it on to Modal",
	})
	attributes := map[string]string{
		"open_network_with_allowlist": "block_network",
		"bad_hostname":                "allow_egress_to",
		"bad_cidr":                    "allow_egress_to_cidrs",
		"cidr_matches_everything":     "allow_egress_to_cidrs",
	}
	table := readTable[struct {
		header
		Variants     json.RawMessage `json:"variants"`
		ModalTags    json.RawMessage `json:"modal_constant_tags"`
		ModalCreate  json.RawMessage `json:"modal_create_keywords"`
		Now          json.RawMessage `json:"now"`
		OpenReadBack json.RawMessage `json:"opensandbox_read_back"`
		OpenWire     json.RawMessage `json:"opensandbox_wire"`
		Cases        []struct {
			Name string `json:"name"`
			Spec *struct {
				Block json.RawMessage `json:"block_network"`
				Hosts json.RawMessage `json:"allow_egress_to"`
				CIDRs json.RawMessage `json:"allow_egress_to_cidrs"`
				Owner json.RawMessage `json:"owner"`
				Env   json.RawMessage `json:"env"`
			} `json:"spec"`
			Verdicts map[string]struct {
				Accepted    bool            `json:"accepted"`
				Reason      string          `json:"reason"`
				Network     json.RawMessage `json:"network"`
				AllowRule   json.RawMessage `json:"allow_rule"`
				Policy      json.RawMessage `json:"network_policy"`
				ReadBack    bool            `json:"read_back"`
				VendorCalls json.RawMessage `json:"vendor_calls"`
				Warns       bool            `json:"warns"`
			} `json:"verdicts"`
			Stamps json.RawMessage `json:"modal_stamps"`
		} `json:"cases"`
	}](t, "spec_refusals.json")
	judged := 0
	for _, row := range table.Cases {
		if slices.ContainsFunc(strings.Split(row.Name, "."), notApplicable.covers) {
			continue
		}
		judged++
		t.Run(row.Name, func(t *testing.T) {
			var block bool
			hosts, isList := stringList(row.Spec.Hosts)
			cidrs, areList := stringList(row.Spec.CIDRs)
			verdict, known := row.Verdicts["modal_sni"]
			if json.Unmarshal(row.Spec.Block, &block) != nil || !isList || !areList || !known {
				t.Fatal("a row this test does not understand")
			}
			problems := CheckNetwork(sandbox.NetworkPolicy{Open: !block, AllowEgressTo: hosts, AllowEgressToCIDRs: cidrs})
			want, refused := attributes[verdict.Reason]
			switch {
			case !refused && !verdict.Accepted && verdict.Reason != "bad_env": // which is judged after the policy
				t.Fatalf("a reason this test does not understand: %s", verdict.Reason)
			case stricter.covers(row.Name):
				if refused || len(problems) == 0 {
					t.Errorf("%+v, and Airflow: %+v; we are not stricter any more", problems, verdict)
				}
			case refused && !slices.ContainsFunc(problems, func(p NetworkProblem) bool { return p.Attribute == want }):
				t.Errorf("%+v does not name %s, which Airflow refuses: %s", problems, want, verdict.Reason)
			case !refused && len(problems) > 0:
				t.Errorf("%+v is refused, and Airflow accepts it", problems)
			}
		})
	}
	if judged < 100 {
		t.Errorf("only %d of %d rows were judged", judged, len(table.Cases))
	}
	notApplicable.complete(t)
	stricter.complete(t)
}
