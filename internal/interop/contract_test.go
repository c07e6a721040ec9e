// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// table is one of those to which our own code is held, elsewhere. Here the
// released Airflow is: what it does today, it must have done when they were made.
type table struct {
	Now     float64
	Cases   []json.RawMessage
	Release []releaseRow `json:"modal_release"` // of attach.json

	// Of spec_refusals.json.
	ConstantTags map[string]string         `json:"modal_constant_tags"`
	Keywords     map[string]map[string]any `json:"modal_create_keywords"`
}

func readTable[Row any](t *testing.T, name string) (read table, rows []Row) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../airflow/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	rows = make([]Row, len(read.Cases))
	for i, row := range read.Cases {
		if err := json.Unmarshal(row, &rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	return read, rows
}

type specRow struct {
	Name     string
	Spec     map[string]any
	Stamps   map[string]string `json:"modal_stamps"`
	Verdicts map[string]struct {
		Accepted bool
		Reason   string
		Network  map[string]any
	}
}

// refusals are the words of Airflow's behind the table's reasons.
var refusals = map[string]string{
	"open_network_with_allowlist": "asks for an open network and an allowlist at the same time",
	"hostnames_need_sni":          "Pass ModalSandboxBackend(egress_enforcement='sni')",
	"bad_cidr":                    "must contain IPv4 address ranges in CIDR notation",
	"owner_with_idle_timeout":     "would reclaim it while it waits between tasks",
	"cidr_matches_everything":     "matches every address and so restricts nothing",
	"cidrs_one_string":            "allow_egress_to_cidrs must be a sequence of CIDR ranges, not one string",
	"bad_hostname":                "must contain bare hostnames",
	"bad_env":                     "env must map strings to strings",
	"hostnames_one_string":        "allow_egress_to must be a sequence of hostnames, not one string",
}

// What our backend refuses and sends is held to the same table in
// internal/backend/modal.
func createRefusesAndSendsWhatOurPlanDoes(t *testing.T) {
	read, rows := readTable[specRow](t, "spec_refusals.json")
	notJSON := slices.IndexFunc(rows, func(row specRow) bool { return row.Name == "env_non_string_keys" })
	read.Cases, rows = slices.Delete(read.Cases, notJSON, notJSON+1), slices.Delete(rows, notJSON, notJSON+1)
	judged := 0
	for variant, settings := range map[string]arguments{
		"modal_strict":      {},
		"modal_sni":         {"egress_enforcement": "sni"},
		"modal_strict_idle": {"idle_timeout": 600},
		"modal_sni_idle":    {"egress_enforcement": "sni", "idle_timeout": 600},
	} {
		answers := ask[[]struct {
			Refused string
			Asked   map[string]any
		}](t, "judge", arguments{"now": read.Now, "rows": read.Cases, "settings": settings})
		for i, row := range rows {
			verdict := row.Verdicts[variant]
			judged++
			if !verdict.Accepted {
				if words := refusals[verdict.Reason]; words == "" || !strings.Contains(answers[i].Refused, words) {
					t.Errorf("%s, %s: refused with %q, want %s", row.Name, variant, answers[i].Refused, verdict.Reason)
				}
				continue
			}
			want := map[string]any{"app_name": "airflow-sandbox", "create_app_if_missing": true}
			maps.Copy(want, read.Keywords[variant])
			for _, of := range []string{"app", "app_lookup", "command"} { // what the hook makes of the two
				delete(want, of)
			}
			maps.Copy(want, verdict.Network)
			stamped := map[string]any{}
			for _, some := range []map[string]string{read.ConstantTags, row.Stamps} {
				for key, value := range some {
					stamped[key] = value
				}
			}
			want["tags"], want["env"] = stamped, row.Spec["env"]
			if env, _ := want["env"].(map[string]any); len(env) == 0 {
				want["env"] = nil
			}
			if diff := cmp.Diff(want, answers[i].Asked); diff != "" {
				t.Errorf("%s, %s: -table +Airflow\n%s", row.Name, variant, diff)
			}
		}
	}
	if judged < 800 {
		t.Errorf("only %d verdicts were asked for", judged)
	}
}

// attachRow is a row of attach.json, and what Airflow made of it.
type attachRow struct {
	Name         string
	Abbreviated  string
	Outcome      string
	Reason       string
	Terminal     bool
	Error        *failure `json:"error"`
	Remaining    *float64 `json:"remaining_seconds"`
	Workdir      *string
	NetworkKnown bool `json:"network_known"`
	Calls        []string
	Pauses       []float64    `json:"release_pauses_seconds"`
	During       sandbox.Tags `json:"tags_during"`
	After        sandbox.Tags `json:"tags_after"`
}

// attachReasons are the words of Airflow's, or of the store, behind the table's
// reasons.
var attachReasons = map[string]string{
	"not_owned":                        "is not owned by",
	"held_by_other":                    "is already held by",
	"lost_the_claim":                   "was claimed by",
	"owner_missing":                    "attach_to needs an owner",
	"bad_handle":                       "attach_to rendered to",
	"sandbox_gone":                     "gone",
	"vendor_recoverable":               "recoverable",
	"vendor_recoverable_made_terminal": "Could not attach to sandbox",
	"python_error:OverflowError":       "cannot convert float infinity to integer",
}

func TestAttachAndReleaseAreStillThoseOfTheTable(t *testing.T) {
	read, rows := readTable[attachRow](t, "attach.json")
	replayed := ask[[]attachRow](t, "replay", arguments{"now": read.Now, "rows": read.Cases})
	for i, row := range rows {
		if row.Abbreviated != "" {
			continue // its value is not in the table
		}
		got := replayed[i]
		if row.Reason != "" {
			words, known := attachReasons[row.Reason]
			if got.Error == nil || !known || !strings.Contains(got.Error.Message, words) || got.Error.Terminal != row.Terminal {
				t.Errorf("%s: refused with %+v, want %s, terminal: %t", row.Name, got.Error, row.Reason, row.Terminal)
			}
		}
		if diff := cmp.Diff(row, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(attachRow{}, "Name", "Reason", "Terminal", "Error")); diff != "" {
			t.Errorf("%s: -table +Airflow\n%s", row.Name, diff)
		}
	}
}

// releaseRow is what a release makes of an error of Modal's.
type releaseRow struct {
	VendorError string    `json:"vendor_error"`
	Reads       int       `json:"tag_reads"`
	Pauses      []float64 `json:"pauses_seconds"`
	HolderLeft  bool      `json:"holder_left"`
	Levels      []string  `json:"log_levels"`
}

func TestReleaseThatModalRefusesLeavesTheHolderAndLetsTheTaskGoOn(t *testing.T) {
	read, _ := readTable[attachRow](t, "attach.json")
	if len(read.Release) < 10 {
		t.Fatalf("the table has %d errors", len(read.Release))
	}
	for _, row := range read.Release {
		answered := worker.do(t, "release_modal", arguments{"now": read.Now, "row": row})
		if answered.Error != nil {
			t.Errorf("%s: the task ends with %+v", row.VendorError, *answered.Error)
			continue
		}
		got := releaseRow{VendorError: row.VendorError}
		if err := json.Unmarshal(answered.Result, &got); err != nil {
			t.Fatal(err)
		}
		for _, line := range answered.Logs[1:] { // after "Attached to"
			got.Levels = append(got.Levels, strings.ToLower(line.Level))
		}
		if diff := cmp.Diff(row, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("-table +Airflow\n%s", diff)
		}
	}
}
