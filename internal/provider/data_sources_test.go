// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// foreign makes a sandbox past Terraform, with the tags that its maker wrote.
func (w *world) foreign(spec sandbox.Spec, tags sandbox.Tags) sandbox.Sandbox {
	w.t.Helper()
	b := w.backend()
	if preparer, ok := b.(backend.Preparer); ok {
		if err := preparer.Prepare(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
	req := backend.NewRequest(spec, tags, w.clock.Now())
	made, err := backend.Create(w.t.Context(), b, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return made
}

func (w *world) destroy(ref sandbox.Ref) {
	w.t.Helper()
	b := w.backend()
	if err := b.Destroy(w.t.Context(), ref); err != nil {
		w.t.Fatal(err)
	}
	if err := backend.WaitGone(w.t.Context(), b, ref); err != nil {
		w.t.Fatal(err)
	}
}

// look runs one step that only reads; what foreign made stays until the test ends.
func (w *world) look(step resource.TestStep) {
	w.t.Helper()
	resource.UnitTest(w.t, resource.TestCase{ProtoV6ProviderFactories: w.factories(), Steps: []resource.TestStep{step}})
}

// lookUp is the configuration of data.sandbox_instance.it.
func (w *world) lookUp(handle string) string {
	return fmt.Sprintf(`
data "sandbox_instance" "it" {
  connection_uri = %q
  handle         = %q
}`, w.uri(), handle)
}

// instances is the configuration of data.sandbox_instances.them.
func (w *world) instances(filters string) string {
	return fmt.Sprintf(`
data "sandbox_instances" "them" {
  connection_uri = %q
  %s
}`, w.uri(), filters)
}

// listed demands exactly these handles.
func listed(handles ...string) []statecheck.StateCheck {
	slices.Sort(handles)
	checks := make([]knownvalue.Check, len(handles))
	for i, handle := range handles {
		checks[i] = knownvalue.ObjectPartial(map[string]knownvalue.Check{"handle": knownvalue.StringExact(handle)})
	}
	return []statecheck.StateCheck{
		statecheck.ExpectKnownValue("data.sandbox_instances.them", tfjsonpath.New("instances"), knownvalue.ListExact(checks)),
	}
}

func TestOneSandboxIsReadWhoeverMadeIt(t *testing.T) {
	w := newWorld(t)
	ends := w.clock.Now().Add(time.Hour).Truncate(time.Second)
	made := w.foreign(sandbox.Spec{Lifetime: time.Hour}, sandbox.Tags{
		airflow.TagOwner:      "etl/run",
		airflow.TagHolder:     "etl/run/agent[3]",
		airflow.TagExpiresAt:  airflow.FormatExpiry(ends),
		airflow.TagNetwork:    `{ "allow_egress_to": ["a.example.org"], "allow_egress_to_cidrs": [], "block_network": true }`,
		airflow.TagWorkdir:    "/data",
		sandbox.TagDeployment: "prod",
		"team":                "research",
	})
	at := func(name string, check knownvalue.Check) statecheck.StateCheck {
		return statecheck.ExpectKnownValue("data.sandbox_instance.it", tfjsonpath.New(name), check)
	}
	w.look(resource.TestStep{
		Config: w.lookUp(made.Handle),
		ConfigStateChecks: []statecheck.StateCheck{
			at("name", knownvalue.StringExact(made.Name)),
			at("state", knownvalue.StringExact("running")),
			at("owner", knownvalue.StringExact("etl/run")),
			at("holder", knownvalue.StringExact("etl/run/agent[3]")),
			at("deployment", knownvalue.StringExact("prod")),
			at("workdir", knownvalue.StringExact("/data")),
			at("expires_at", knownvalue.StringExact(ends.Format(time.RFC3339))),
			at("created_at", knownvalue.NotNull()),
			at("tags", knownvalue.MapPartial(map[string]knownvalue.Check{"team": knownvalue.StringExact("research")})),
			at("network_policy", knownvalue.ObjectExact(map[string]knownvalue.Check{
				"block_network":         knownvalue.Bool(true),
				"allow_egress_to":       knownvalue.ListExact([]knownvalue.Check{knownvalue.StringExact("a.example.org")}),
				"allow_egress_to_cidrs": knownvalue.Null(),
			})),
		},
	})
}

func TestASandboxWithoutAirflowsTagsIsReadWithNulls(t *testing.T) {
	w := newWorld(t)
	made := w.foreign(sandbox.Spec{Lifetime: time.Hour}, sandbox.Tags{airflow.TagNetwork: "{", airflow.TagExpiresAt: "soon"})
	var checks []statecheck.StateCheck
	for _, name := range []string{"owner", "holder", "deployment", "workdir", "network_policy"} {
		checks = append(checks, statecheck.ExpectKnownValue("data.sandbox_instance.it", tfjsonpath.New(name), knownvalue.Null()))
	}
	w.look(resource.TestStep{
		Config:            w.lookUp(made.Handle),
		ConfigStateChecks: checks,
	})
}

func TestASandboxThatIsNotThereIsAnError(t *testing.T) {
	w := newWorld(t)
	w.foreign(sandbox.Spec{Lifetime: time.Hour}, nil)
	w.look(resource.TestStep{
		Config:      w.lookUp("sb-nowhere"),
		ExpectError: regexp.MustCompile(`has\s+no\s+sandbox\s+sb-nowhere`),
	})
}

func TestSandboxesAreFilteredByOwnerStateAndEnd(t *testing.T) {
	w := newWorld(t)
	now := w.clock.Now()
	stamped := func(owner string, in time.Duration) sandbox.Tags {
		return sandbox.Tags{airflow.TagOwner: owner, airflow.TagExpiresAt: airflow.FormatExpiry(now.Add(in))}
	}
	a := w.foreign(sandbox.Spec{Lifetime: time.Hour}, stamped("terraform:a", time.Hour)).Handle
	a2 := w.foreign(sandbox.Spec{Lifetime: 3 * time.Hour}, stamped("terraform:a", 3*time.Hour)).Handle
	b := w.foreign(sandbox.Spec{Lifetime: time.Hour}, stamped("terraform:b", time.Hour)).Handle
	w.look(resource.TestStep{Config: w.instances(""), ConfigStateChecks: listed(a, a2, b)})
	w.look(resource.TestStep{
		Config: w.instances(fmt.Sprintf("owner = \"terraform:a\"\n state = \"running\"\n expires_before = %q",
			now.Add(2*time.Hour).UTC().Format(time.RFC3339))),
		ConfigStateChecks: listed(a),
	})
}

func TestABrokenRecordHidesNoOtherSandbox(t *testing.T) {
	w := newWorld(t)
	good := w.foreign(sandbox.Spec{Lifetime: time.Hour}, nil).Handle
	bad := w.foreign(sandbox.Spec{Lifetime: time.Hour}, nil).Handle
	if err := os.WriteFile(filepath.Join(w.dir, "sandboxes", bad, "meta.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.look(resource.TestStep{Config: w.instances(""), ConfigStateChecks: listed(good)})
	w.look(resource.TestStep{
		Config:      w.lookUp(bad),
		ExpectError: regexp.MustCompile(`cannot\s+be\s+read`),
	})
}

func TestAnIncompleteListingIsAnError(t *testing.T) {
	w := newWorld(t)
	w.foreign(sandbox.Spec{Lifetime: time.Hour}, nil)
	w.failing("list")()
	w.look(resource.TestStep{Config: w.instances(""), ExpectError: regexp.MustCompile(`(?s)cannot\s+be\s+listed\s+completely.*the\s+disk\s+said\s+no`)})
}

func TestAStateDirectoryThatIsMissingIsNotAnEmptyOne(t *testing.T) {
	w := newWorld(t)
	w.look(resource.TestStep{Config: w.instances(""), ExpectError: regexp.MustCompile(`cannot\s+be\s+listed`)})
}

func TestMisspeltFiltersAreRefused(t *testing.T) {
	w := newWorld(t)
	w.look(resource.TestStep{Config: w.instances(`state = "alive"`), PlanOnly: true, ExpectError: regexp.MustCompile(`state\s+value\s+must\s+be\s+one\s+of`)})
	w.look(resource.TestStep{Config: w.instances(`expires_before = "tomorrow"`), PlanOnly: true, ExpectError: regexp.MustCompile(`RFC\s*3339`)})
}
