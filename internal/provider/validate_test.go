// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// badInput is one attribute written wrong, on an instance that is right
// otherwise, and what Terraform must say about that very attribute.
var badInput = map[string]struct{ config, attribute, says string }{
	"zero_lifetime":        {`lifetime = "0s"`, "lifetime", "not above zero"},
	"negative_lifetime":    {`lifetime = "-1h"`, "lifetime", "not above zero"},
	"unitless_lifetime":    {`lifetime = "3600"`, "lifetime", "is not a duration"},
	"endless_lifetime":     {`lifetime = "100000h"`, "lifetime", "longer than"},
	"unknown_scheme":       {`connection_uri = "docker:"`, "connection_uri", "unknown scheme"},
	"unknown_setting":      {`connection_uri = "local:?colour=blue"`, "connection_uri", "unknown setting"},
	"relative_state":       {`connection_uri = "local:state"`, "connection_uri", "absolute"},
	"secret_in_uri":        {`connection_uri = "local://me:hush@host/"`, "connection_uri", "user or password"},
	"renew_at_birth":       {`renew_before = "1h"`, "renew_before", "shorter than lifetime"},
	"negative_renewal":     {`renew_before = "-1m"`, "renew_before", "not above zero"},
	"reserved_airflow_tag": {`tags = { airflow_owner = "x" }`, "tags", "reserved"},
	"reserved_own_tag":     {`tags = { taskowned_teardown_at = "1" }`, "tags", "reserved"},
	"null_tag":             {`tags = { a = null }`, "tags", "Null"},
	"long_owner":           {fmt.Sprintf(`owner = %q`, strings.Repeat("x", 10000)), "owner", "10000 characters"},
	"owner_of_two_lines":   {`owner = "a\nb"`, "owner", "newline"},
	"empty_owner":          {`owner = ""`, "owner", "leave it out"},
	"one_label":            {`network_policy = { allow_egress_to = ["localhost"] }`, "network_policy", "one label"},
	"url_as_hostname":      {`network_policy = { allow_egress_to = ["https://example.org"] }`, "network_policy", "no scheme"},
	"address_as_hostname":  {`network_policy = { allow_egress_to = ["10.0.0.1"] }`, "network_policy", "allow_egress_to_cidrs"},
	"host_bits":            {`network_policy = { allow_egress_to_cidrs = ["10.0.0.1/8"] }`, "network_policy", "host bits"},
	"everything":           {`network_policy = { allow_egress_to_cidrs = ["0.0.0.0/0"] }`, "network_policy", "block_network = false"},
	"ipv6":                 {`network_policy = { allow_egress_to_cidrs = ["::1"] }`, "network_policy", "IPv6"},
	"contradiction":        {`network_policy = { block_network = false, allow_egress_to = ["a.example"] }`, "network_policy", "contradicts"},
	"relative_workdir":     {`workdir = "data"`, "workdir", "absolute"},
	"bad_env_name":         {`env = { "A=B" = "1" }`, "env", "equals sign"},
	"env_given_twice":      {"env = { A = \"1\" }\n  env_wo_version = 1\n  env_wo = { A = \"2\" }", "env_wo", "stands in env and in env_wo"},
	"env_wo_alone":         {`env_wo = { A = "2" }`, "env_wo", "env_wo_version"},
	"version_alone":        {`env_wo_version = 1`, "env_wo_version", "env_wo"},
	"no_cpu":               {`cpu = 0`, "cpu", "at least"},
	"no_memory":            {`memory_mib = 0`, "memory_mib", "at least"},
	"empty_image":          {`image = ""`, "image", "at least 1"},
	"empty_gpu":            {`gpu = ""`, "gpu", "at least 1"},
	"days_of_renewal":      {`renew_before = "1d"`, "renew_before", "a day is 24h"},
	"negative_timeout":     {`timeouts = { create = "-5s" }`, "timeouts", "not above zero"},
	"unitless_timeout":     {`timeouts = { delete = "5" }`, "timeouts", "is not a duration"},
	"no_idle_time":         {`idle_timeout = "0s"`, "idle_timeout", "not above zero"},
}

func TestEveryBadInputIsRefusedNamingItsAttribute(t *testing.T) {
	w := newWorld(t)
	var config strings.Builder
	for _, name := range slices.Sorted(maps.Keys(badInput)) {
		bad := badInput[name].config
		fmt.Fprintf(&config, "resource \"sandbox_instance\" %q {\n", name)
		for attribute, good := range map[string]string{"connection_uri": "local:", "lifetime": "1h"} {
			if !strings.HasPrefix(bad, attribute+" ") {
				fmt.Fprintf(&config, "  %s = %q\n", attribute, good)
			}
		}
		fmt.Fprintf(&config, "  %s\n}\n", bad)
	}
	config.WriteString("resource \"sandbox_connection\" \"relative\" {\n  local = { directory = \"state\" }\n}\n")
	config.WriteString("resource \"sandbox_connection\" \"deployment\" {\n  deployment = \"a b\"\n  local = {}\n}\n")
	config.WriteString("resource \"sandbox_connection\" \"airflow\" {\n  airflow_conn_id = \"a b\"\n  local = {}\n}\n")

	said := w.workspace(config.String()).validate()
	for name, bad := range badInput {
		said.demand(t, "sandbox_instance", name, bad.attribute, bad.says)
	}
	said.demand(t, "sandbox_connection", "relative", "local", "abspath")
	said.demand(t, "sandbox_connection", "deployment", "deployment", "letters, digits")
	said.demand(t, "sandbox_connection", "airflow", "airflow_conn_id", "cannot be a connection id")
	for _, d := range said {
		if strings.Contains(d.Detail, "Given Value") || strings.Contains(d.Detail, "-1.5h") {
			t.Errorf("a library speaks: %s", d.Detail)
		}
		if strings.Contains(d.Summary+d.Detail, "hush") {
			t.Errorf("the password in a URI was repeated: %s", d.Detail)
		}
	}
}

// diagnostic is one of `terraform validate -json`.
type diagnostic struct {
	Severity, Summary, Detail string
	Snippet                   struct{ Context, Code string }
}

type diagnostics []diagnostic

func (ws *workspace) validate() diagnostics {
	ws.t.Helper()
	out, _ := ws.terraform(nil, "validate", "-json")
	var answer struct{ Diagnostics diagnostics }
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		ws.t.Fatalf("%v: %s", err, out)
	}
	return answer.Diagnostics
}

// demand looks for an error about one attribute of one resource.
func (all diagnostics) demand(t *testing.T, kind, name, attribute, says string) {
	t.Helper()
	var heard []string
	for _, d := range all {
		if d.Severity != "error" || d.Snippet.Context != fmt.Sprintf("resource %q %q", kind, name) {
			continue
		}
		text := strings.Join(strings.Fields(d.Summary+": "+d.Detail), " ")
		named := strings.HasPrefix(strings.TrimSpace(d.Snippet.Code), attribute+" ") || strings.Contains(text, attribute)
		if named && strings.Contains(text, says) {
			return
		}
		heard = append(heard, fmt.Sprintf("at %q: %.300s", d.Snippet.Code, text))
	}
	t.Errorf("%s.%s: nothing about %s says %q; heard %q", kind, name, attribute, says, heard)
}
