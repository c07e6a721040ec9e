// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// says is what a refusal says for each of the table's reasons.
var says = map[string]string{
	"hostnames_need_sni":          "allow_egress_to is enforced by TLS server name only",
	"bad_hostname":                "allow_egress_to: ",
	"bad_cidr":                    "allow_egress_to_cidrs: ",
	"cidr_matches_everything":     "allow_egress_to_cidrs: ",
	"open_network_with_allowlist": "contradicts a list",
	"owner_with_idle_timeout":     "an owned sandbox",
}

// Rows that ask for what our types cannot hold, by what they ask for. Terraform
// refuses most of them as a wrong type.
var unspeakable = map[string]string{
	"string list": "a list is a list here, so a string in its place cannot be written",
	"odd entry":   "entries of a list are strings here",
	"odd block":   "block_network is true or false here",
	"odd env":     "values of env are strings here",
	"empty owner": "an empty owner is none here",
}

// Rows in which we refuse what Airflow accepts.
var stricter = map[string]string{
	"env_empty_key":          "Modal's client refuses a variable without a name",
	"env_odd_key":            "Modal's client refuses a variable that no shell can name",
	"hosts_trailing_newline": "a newline is part of no hostname; Airflow's pattern lets one through at the end",
}

// Rows in which a network policy is there, while ours always is: what Airflow
// does without one is open, and is never asked for here.
const noSpec = "no_spec"

func TestRefusalsAreExactlyThoseOfAirflow(t *testing.T) {
	var table struct {
		Cases []struct {
			Name     string
			Spec     *tableSpec
			Verdicts map[string]struct {
				Accepted bool
				Reason   string
				Network  map[string]any
			}
		}
	}
	readTable(t, "../../airflow/testdata/spec_refusals.json", &table)
	met := map[string]bool{}
	checked := 0
	for _, row := range table.Cases {
		if row.Name == noSpec {
			continue
		}
		spec, why := row.Spec.spec(t)
		if why != "" {
			met[why] = true
			continue
		}
		for variant, verdict := range row.Verdicts {
			variant, modals := strings.CutPrefix(variant, "modal_")
			if !modals {
				continue
			}
			egress, idle, _ := strings.Cut(variant, "_")
			a := &app{sni: egress == egressSNI}
			spec.IdleTimeout = 0
			if idle != "" {
				spec.IdleTimeout = 600 * time.Second
			}
			refusals := a.Refuse(spec)
			checked++
			switch {
			case stricter[row.Name] != "" && verdict.Accepted:
				met[row.Name] = true
				if len(refusals) == 0 {
					t.Errorf("%s, %s: accepted, although it is listed as stricter", row.Name, variant)
				}
			case verdict.Accepted && len(refusals) > 0:
				t.Errorf("%s, %s: Refuse = %+v, want none", row.Name, variant, refusals)
			case verdict.Accepted:
				if diff := cmp.Diff(verdict.Network, network(spec)); diff != "" {
					t.Errorf("%s, %s: network keywords (-Airflow +ours):\n%s", row.Name, variant, diff)
				}
			case !anySays(refusals, says[verdict.Reason]):
				t.Errorf("%s, %s: Refuse = %+v, want one that says %q (%s)", row.Name, variant, refusals, says[verdict.Reason], verdict.Reason)
			}
		}
	}
	for _, reasons := range []map[string]string{unspeakable, stricter} {
		for name := range reasons {
			if !met[name] {
				t.Errorf("%q is an exception that no row needs", name)
			}
		}
	}
	if checked < 400 {
		t.Errorf("only %d verdicts were checked", checked)
	}
}

// tableSpec is a spec as Python holds it.
type tableSpec struct {
	BlockNetwork any     `json:"block_network"`
	Hosts        any     `json:"allow_egress_to"`
	Ranges       any     `json:"allow_egress_to_cidrs"`
	Owner        *string `json:"owner"`
	Env          any     `json:"env"`
}

// spec translates, or says why it cannot.
func (s *tableSpec) spec(t *testing.T) (spec sandbox.Spec, why string) {
	t.Helper()
	spec.Lifetime = time.Hour
	block, ok := s.BlockNetwork.(bool)
	if !ok {
		return spec, "odd block"
	}
	spec.Network.Open = !block
	for _, list := range []struct {
		from any
		to   *[]string
	}{{s.Hosts, &spec.Network.AllowEgressTo}, {s.Ranges, &spec.Network.AllowEgressToCIDRs}} {
		switch entries := list.from.(type) {
		case nil:
		case []any:
			for _, entry := range entries {
				text, ok := entry.(string)
				if !ok {
					return spec, "odd entry"
				}
				*list.to = append(*list.to, text)
			}
		case string:
			return spec, "string list"
		default:
			t.Fatalf("%T is no list", list.from)
		}
	}
	if s.Owner != nil {
		if spec.Owner = *s.Owner; spec.Owner == "" {
			return spec, "empty owner"
		}
	}
	switch env := s.Env.(type) {
	case nil:
	case map[string]any:
		spec.Env = map[string]string{}
		for key, value := range env {
			text, ok := value.(string)
			if !ok {
				return spec, "odd env"
			}
			spec.Env[key] = text
		}
	default:
		return spec, "odd env"
	}
	return spec, ""
}

// network is what Python's client would be given.
func network(spec sandbox.Spec) map[string]any {
	params := createParams(backend.Request{Spec: spec})
	keywords := map[string]any{}
	if params.BlockNetwork {
		keywords["block_network"] = true
	}
	if list := params.OutboundCIDRAllowlist; list != nil {
		keywords["outbound_cidr_allowlist"] = anys(list.Entries)
	}
	if list := params.OutboundDomainAllowlist; list != nil {
		keywords["outbound_domain_allowlist"] = anys(list.Entries)
	}
	return keywords
}

func anys(texts []string) []any {
	var all []any
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}

func anySays(refusals []backend.Refusal, text string) bool {
	for _, r := range refusals {
		if text != "" && strings.Contains(r.Reason, text) {
			return true
		}
	}
	return false
}

func readTable(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func TestWhatModalWouldRefuseLaterIsRefusedWhenPlanning(t *testing.T) {
	for name, test := range map[string]struct {
		spec      sandbox.Spec
		attribute string
		reason    string
	}{
		"no lifetime":            {sandbox.Spec{Lifetime: -1}, "lifetime", "outside"},
		"less than a second":     {sandbox.Spec{Lifetime: time.Second - 1}, "lifetime", "outside"},
		"more than a day":        {sandbox.Spec{Lifetime: 24*time.Hour + 1}, "lifetime", "outside 1s to 24h0m0s"},
		"an idle timeout of ms":  {sandbox.Spec{IdleTimeout: time.Millisecond}, "idle_timeout", "not a second or more"},
		"a negative idle":        {sandbox.Spec{IdleTimeout: -time.Second}, "idle_timeout", "not a second or more"},
		"idle after its end":     {sandbox.Spec{IdleTimeout: time.Hour + 1}, "idle_timeout", "longer than the lifetime"},
		"idle with an owner":     {sandbox.Spec{IdleTimeout: time.Minute, Owner: "dag/run"}, "idle_timeout", "owned"},
		"negative cpu":           {sandbox.Spec{CPU: -1}, "cpu", "number of cores"},
		"cpu that is no number":  {sandbox.Spec{CPU: math.NaN()}, "cpu", "number of cores"},
		"cpu too small to count": {sandbox.Spec{CPU: 0.0001}, "cpu", "number of cores"},
		"negative memory":        {sandbox.Spec{MemoryMiB: -1}, "memory_mib", "number of MiB"},
		"memory over 32 bits":    {sandbox.Spec{MemoryMiB: math.MaxInt32 + 1}, "memory_mib", "number of MiB"},
		"no GPUs":                {sandbox.Spec{GPU: "T4:0"}, "gpu", "not a GPU"},
		"half a GPU":             {sandbox.Spec{GPU: "T4:x"}, "gpu", "not a GPU"},
		"two regions":            {sandbox.Spec{Region: "us-east,us-west"}, "region", "not a region"},
		"an odd cloud":           {sandbox.Spec{Cloud: "a b"}, "cloud", "not a cloud"},
		"a relative workdir":     {sandbox.Spec{Workdir: "work"}, "workdir", "absolute"},
		"an unclean workdir":     {sandbox.Spec{Workdir: "/a/../b"}, "workdir", "without . or .."},
		"an image of two lines":  {sandbox.Spec{Image: "a\nRUN evil"}, "image", "white space"},
		"an image option":        {sandbox.Spec{Image: "--platform=x"}, "image", "dash"},
		"an odd variable":        {sandbox.Spec{Env: map[string]string{"A=B": "c"}}, "env", "not the name"},
		"a value not UTF-8":      {sandbox.Spec{Env: map[string]string{"A": "\xff"}}, "env", "A: the value"},
		"IPv6":                   {sandbox.Spec{Network: sandbox.NetworkPolicy{AllowEgressToCIDRs: []string{"2001:db8::/32"}}}, "network_policy", "IPv6"},
		"the whole world":        {sandbox.Spec{Network: sandbox.NetworkPolicy{AllowEgressToCIDRs: []string{"0.0.0.0/0"}}}, "network_policy", "every address"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.spec.Lifetime == 0 {
				test.spec.Lifetime = time.Hour
			}
			refusals := (&app{}).Refuse(test.spec)
			if len(refusals) != 1 || refusals[0].Attribute != test.attribute || !strings.Contains(refusals[0].Reason, test.reason) {
				t.Errorf("Refuse = %+v; want %s, saying %q", refusals, test.attribute, test.reason)
			}
		})
	}
	for name, spec := range map[string]sandbox.Spec{
		"the least": {Lifetime: lifetimeMin},
		"a GPU":     {Lifetime: lifetimeMax, GPU: "A100-80GB:4", Region: "us-east", Cloud: "oci", CPU: 0.125, MemoryMiB: 128, Image: "im-1", Workdir: "/srv/work"},
	} {
		if refusals := (&app{}).Refuse(spec); len(refusals) > 0 {
			t.Errorf("%s: Refuse = %+v, want none", name, refusals)
		}
	}
}

func TestNamesOf64CharactersAreTheLongest(t *testing.T) {
	a := &app{}
	for length, valid := range map[int]bool{1: true, 64: true, 65: false} {
		req := backend.NewRequest(sandbox.Spec{Lifetime: time.Hour}, nil, time.Unix(1_800_000_000, 0))
		req.Name = strings.Repeat("n", length)
		if err := a.checkRequest(req); (err == nil) != valid {
			t.Errorf("a name of %d characters: %v", length, err)
		}
	}
}

func TestTimesAreRoundedUpToWholeSeconds(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{0: 0, 1: time.Second, time.Second: time.Second, 1500 * time.Millisecond: 2 * time.Second, 24 * time.Hour: 24 * time.Hour} {
		if got := seconds(d); got != want {
			t.Errorf("seconds(%s) = %s, want %s", d, got, want)
		}
	}
}
