// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

const notTyped = "our lists are typed: Terraform refuses such a value before we see it"

func TestHostnamesAreRefusedAsAirflowDoes(t *testing.T) {
	const newline = "Airflow's pattern lets one trailing newline pass and sends it to the vendor"
	const length = "Airflow has no limit; DNS cannot carry such a name"
	stricter := except(map[string]string{
		"example.org\n":   newline,
		"*.example.org\n": newline,
		"a.b\n":           newline,
		"a.1\n":           newline,
		"10.0.0.5\n":      newline,
		strings.Repeat(strings.Repeat("a", 63)+".", 3) + strings.Repeat("a", 63): length,
		strings.Repeat(strings.Repeat("a", 63)+".", 4) + strings.Repeat("a", 63): length,
		strings.Repeat("a.", 199) + "a":                                          length,
	})
	says := map[string][]string{
		"bad_syntax":        {"is not a hostname", "is an address", "longer than the 253"},
		"single_label":      {"has only one label", "is not a hostname"},
		"ip_literal":        {"is an address"},
		"last_label_digits": {"ends in digits only", "is an address", "has only one label"},
	}
	table := readTable[hostnameTable](t, "hostnames.json")
	for _, row := range table.Cases {
		host, isText := row.Host.(string)
		if !isText {
			if row.Reason != "not_a_string" {
				t.Errorf("%v: a row this test does not understand", row.Host)
			}
			continue // notTyped
		}
		err := CheckHostname(host)
		switch {
		case stricter.covers(host):
			if !row.Accepted || err == nil {
				t.Errorf("%q is to be refused by us alone; Airflow accepts: %t, our error: %v", host, row.Accepted, err)
			}
		case row.Accepted:
			if err != nil || row.Sent != host {
				t.Errorf("%q is accepted by Airflow and sent as %q: %v", host, row.Sent, err)
			}
		case err == nil:
			t.Errorf("%q is refused by Airflow (%s)", host, row.Reason)
		case !slices.ContainsFunc(says[row.Reason], func(words string) bool { return strings.Contains(err.Error(), words) }):
			t.Errorf("%q (%s): the message does not help: %v", host, row.Reason, err)
		}
	}
	stricter.complete(t)
}

type hostnameTable struct {
	header
	Cases []struct {
		Host     any    `json:"host"`
		Accepted bool   `json:"accepted"`
		Sent     string `json:"sent"`
		Reason   string `json:"reason"`
	} `json:"cases"`
	Lists []struct {
		Name       string          `json:"name"`
		Hosts      json.RawMessage `json:"hosts"`
		Accepted   bool            `json:"accepted"`
		Reason     string          `json:"reason"`
		BadInOrder []string        `json:"bad_entries_in_order"`
		Sent       []string        `json:"sent"`
		Block      *bool           `json:"block_network"`
	} `json:"list_cases"`
}

func TestHostnameListsAreRefusedAsAirflowDoes(t *testing.T) {
	stricter := except(map[string]string{
		"one_string":               notTyped,
		"one_string_no_dots":       notTyped,
		"empty_string":             notTyped,
		"dict_keys":                notTyped,
		"number":                   notTyped,
		"zero":                     notTyped,
		"false":                    notTyped,
		"true":                     notTyped,
		"generator":                "a Python generator is empty at its second reading; we have none",
		"newline_entry_sent_as_is": "a trailing newline is no part of a hostname",
	})
	for _, row := range readTable[hostnameTable](t, "hostnames.json").Lists {
		if stricter.covers(row.Name) {
			continue
		}
		hosts, ok := stringList(row.Hosts)
		if !ok {
			t.Errorf("%s: a row this test does not understand", row.Name)
			continue
		}
		bad := badEntries(t, hosts, CheckNetwork(sandbox.NetworkPolicy{AllowEgressTo: hosts}), "allow_egress_to")
		if row.Accepted != (len(bad) == 0) || !slices.Equal(bad, row.BadInOrder) {
			t.Errorf("%s: refused %q, want %q", row.Name, bad, row.BadInOrder)
		}
	}
	stricter.complete(t)
}

type cidrTable struct {
	header
	Cases []struct {
		Entry      any    `json:"entry"`
		Accepted   bool   `json:"accepted"`
		Normalised string `json:"normalised"`
		Reason     string `json:"reason"`
		Message    string `json:"message"`
	} `json:"cases"`
	Lists []struct {
		Name       string          `json:"name"`
		Entries    json.RawMessage `json:"entries"`
		Block      bool            `json:"block_network"`
		Accepted   bool            `json:"accepted"`
		Reason     string          `json:"reason"`
		Named      string          `json:"named_entry"`
		BadInOrder []*string       `json:"bad_entries_in_order"`
		Sent       []string        `json:"sent"`
		SentBlock  *bool           `json:"sent_block_network"`
	} `json:"list_cases"`
}

func TestRangesAreReadAsPythonDoes(t *testing.T) {
	says := map[string]string{
		"host_bits_set":      "has host bits set",
		"matches_everything": "matches every address",
		"ipv6":               "is IPv6",
	}
	for _, row := range readTable[cidrTable](t, "cidrs.json").Cases {
		entry, isText := row.Entry.(string)
		if !isText {
			if row.Reason != "not_a_string" {
				t.Errorf("%v: a row this test does not understand", row.Entry)
			}
			continue // notTyped
		}
		canonical, err := CheckCIDR(entry)
		switch {
		case row.Accepted:
			if err != nil || canonical != row.Normalised {
				t.Errorf("CheckCIDR(%q) = %q, %v, want %q", entry, canonical, err, row.Normalised)
			}
		case err == nil:
			t.Errorf("CheckCIDR(%q) = %q; Airflow refuses it (%s)", entry, canonical, row.Reason)
		case row.Reason == "not_a_range":
			if !strings.Contains(err.Error(), "is not an IPv4") && !strings.Contains(err.Error(), "no valid prefix length") {
				t.Errorf("%q: the message does not help: %v", entry, err)
			}
		case says[row.Reason] == "" || !strings.Contains(err.Error(), says[row.Reason]):
			t.Errorf("%q (%s): the message does not help: %v", entry, row.Reason, err)
		}
	}
}

func TestRangeListsAreRefusedAsAirflowDoes(t *testing.T) {
	stricter := except(map[string]string{
		"one_string":   notTyped,
		"empty_string": notTyped,
		"dict_keys":    notTyped,
		"number":       notTyped,
		"zero":         notTyped,
	})
	for _, row := range readTable[cidrTable](t, "cidrs.json").Lists {
		if stricter.covers(row.Name) {
			continue
		}
		entries, ok := stringList(row.Entries)
		if !ok {
			t.Errorf("%s: a row this test does not understand", row.Name)
			continue
		}
		problems := CheckNetwork(sandbox.NetworkPolicy{Open: !row.Block, AllowEgressToCIDRs: entries})
		switch row.Reason {
		case "": // accepted
			var sent []string
			for _, entry := range entries {
				canonical, err := CheckCIDR(entry)
				if err != nil {
					t.Errorf("%s: %v", row.Name, err)
				}
				sent = append(sent, canonical)
			}
			if diff := cmp.Diff(row.Sent, sent); len(problems) > 0 || diff != "" {
				t.Errorf("%s: %v\n%s", row.Name, problems, diff)
			}
		case "open_network":
			if len(problems) == 0 || problems[0].Attribute != "block_network" || problems[0].Index != -1 {
				t.Errorf("%s: %v", row.Name, problems)
			}
		case "matches_everything": // Airflow stops at the first such entry; we name every bad one
			if bad := badEntries(t, entries, problems, "allow_egress_to_cidrs"); !slices.Contains(bad, row.Named) {
				t.Errorf("%s: %q is not among the refused %q", row.Name, row.Named, bad)
			}
		case "bad_entries":
			var want []string
			for _, entry := range row.BadInOrder {
				if entry != nil {
					want = append(want, *entry)
				}
			}
			if bad := badEntries(t, entries, problems, "allow_egress_to_cidrs"); !slices.Equal(bad, want) {
				t.Errorf("%s: refused %q, want %q", row.Name, bad, want)
			}
		default:
			t.Errorf("%s: a row this test does not understand", row.Name)
		}
	}
	stricter.complete(t)
}

// badEntries maps problems back to the entries they point at.
func badEntries(t *testing.T, entries []string, problems []NetworkProblem, attribute string) (bad []string) {
	t.Helper()
	for _, problem := range problems {
		if problem.Attribute != attribute || problem.Err == nil {
			t.Errorf("unexpected problem %+v", problem)
			continue
		}
		bad = append(bad, entries[problem.Index])
	}
	return bad
}

func TestAnOpenNetworkWithListsIsAContradiction(t *testing.T) {
	for _, policy := range []sandbox.NetworkPolicy{
		{Open: true, AllowEgressTo: []string{"api.example.org"}},
		{Open: true, AllowEgressToCIDRs: []string{"203.0.113.0/24"}},
	} {
		problems := CheckNetwork(policy)
		if len(problems) != 1 || problems[0].Attribute != "block_network" || problems[0].Index != -1 {
			t.Errorf("CheckNetwork(%+v) = %v", policy, problems)
		}
	}
	for _, policy := range []sandbox.NetworkPolicy{{}, {Open: true}, {AllowEgressTo: []string{"a.b"}, AllowEgressToCIDRs: []string{"192.0.2.1"}}} {
		if problems := CheckNetwork(policy); len(problems) > 0 {
			t.Errorf("CheckNetwork(%+v) = %v", policy, problems)
		}
	}
}

// FuzzCheckCIDR: a range that passes has one canonical form, which names at
// most half of all addresses.
func FuzzCheckCIDR(f *testing.F) {
	for _, seed := range []string{"203.0.113.7", " 10.0.0.0/08\n", "203.0.113.0/0.0.0.255", "0.0.0.0/0", "::1", "1.2.3.4/255.0.255.0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, entry string) {
		canonical, err := CheckCIDR(entry)
		if err != nil {
			return
		}
		prefix, err := netip.ParsePrefix(canonical)
		if err != nil || !prefix.Addr().Is4() || prefix.Masked() != prefix || prefix.Bits() < 1 {
			t.Fatalf("CheckCIDR(%q) = %q, which is no canonical range: %v", entry, canonical, err)
		}
		if again, err := CheckCIDR(canonical); err != nil || again != canonical {
			t.Fatalf("CheckCIDR(%q) = %q, %v", canonical, again, err)
		}
	})
}

// FuzzCheckHostname: what passes can be dialled: it fits DNS, is ASCII, and is
// no address.
func FuzzCheckHostname(f *testing.F) {
	for _, seed := range []string{"api.example.org", "*.cdn.example.net", "example.org.", "10.0.0.5\n", "a..b", "-a.b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		if CheckHostname(host) != nil {
			return
		}
		name := strings.TrimPrefix(host, "*.")
		if _, err := netip.ParseAddr(name); err == nil || len(name) > 253 || !strings.Contains(name, ".") {
			t.Fatalf("%q passed", host)
		}
		for _, b := range []byte(name) {
			if !isASCIILetter(rune(b)) && !isASCIIDigit(rune(b)) && b != '-' && b != '.' {
				t.Fatalf("%q passed", host)
			}
		}
	})
}
