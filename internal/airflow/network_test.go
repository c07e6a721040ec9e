// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestEncodingIsByteForByteWhatAirflowWrites(t *testing.T) {
	const typed = "our policy is typed: Terraform refuses such a value before we see it"
	const surrogate = "half a surrogate pair is not text in UTF-8; refused below"
	stricter := except(map[string]string{
		"bare_string_host_is_split":  typed,
		"bare_string_cidr_is_split":  typed,
		"empty_string_host_is_unset": typed,
		"numbers_and_null_entries":   typed,
		"nested_entries":             typed,
		"block_null":                 typed,
		"block_zero":                 typed,
		"block_one":                  typed,
		"block_string":               typed,
		"block_float_1.0":            typed,
		"host_lone_high_surrogate":   surrogate,
		"host_lone_low_surrogate":    surrogate,
		"host_reversed_surrogates":   surrogate,
	})
	table := readTable[struct {
		header
		Cases []struct {
			Name          string          `json:"name"`
			Block         any             `json:"block_network"`
			Hosts         json.RawMessage `json:"allow_egress_to"`
			CIDRs         json.RawMessage `json:"allow_egress_to_cidrs"`
			Tag           string          `json:"tag"`
			LoneSurrogate bool            `json:"lone_surrogate"`
		} `json:"cases"`
	}](t, "network_tag_encode.json")
	for _, row := range table.Cases {
		if stricter.covers(row.Name) {
			continue
		}
		t.Run(row.Name, func(t *testing.T) {
			block, boolean := row.Block.(bool)
			hosts, isList := stringList(row.Hosts)
			cidrs, areList := stringList(row.CIDRs)
			if !boolean || !isList || !areList || row.LoneSurrogate {
				t.Fatal("a row this test does not understand")
			}
			tag, err := EncodeNetwork(sandbox.NetworkPolicy{Open: !block, AllowEgressTo: hosts, AllowEgressToCIDRs: cidrs})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.Tag, tag); diff != "" {
				t.Errorf("-airflow +ours\n%s", diff)
			}
		})
	}
	stricter.complete(t)
}

func TestEncodingRefusesTextThatIsNotUTF8(t *testing.T) {
	for _, policy := range []sandbox.NetworkPolicy{
		{AllowEgressTo: []string{"ok.example.org", "\xed\xa0\xbd.example"}},
		{AllowEgressToCIDRs: []string{"\xff"}},
	} {
		if tag, err := EncodeNetwork(policy); err == nil {
			t.Errorf("EncodeNetwork(%+q) = %q, want an error", policy.AllowEgressTo, tag)
		}
	}
}

func TestDecodingIsAsTolerantAsAirflow(t *testing.T) {
	const surrogate = "half a surrogate pair is not text in UTF-8, so that the policy counts as unknown"
	stricter := except(map[string]string{
		"lone_high_escape": surrogate,
		"lone_low_escape":  surrogate,
		"high_high_escape": surrogate,
		"reversed_escape":  surrogate,
	})
	table := readTable[struct {
		header
		Cases []struct {
			Name      string    `json:"name"`
			Raw       string    `json:"raw"`
			RawParts  []rawPart `json:"raw_parts"`
			Error     bool      `json:"error"`
			ErrorKind string    `json:"error_kind"`
			Decoded   *struct {
				Block bool     `json:"block_network"`
				Hosts []string `json:"allow_egress_to"`
				CIDRs []string `json:"allow_egress_to_cidrs"`
			} `json:"decoded"`
			Attach        string `json:"attach"`
			LoneSurrogate bool   `json:"lone_surrogate"`
		} `json:"cases"`
	}](t, "network_tag_decode.json")
	for _, row := range table.Cases {
		t.Run(row.Name, func(t *testing.T) {
			for _, part := range row.RawParts {
				row.Raw += strings.Repeat(part.text, part.times)
			}
			policy, err := DecodeNetwork(row.Raw)
			if strict := stricter.covers(row.Name); row.Error || strict {
				if !errors.Is(err, ErrUnreadableNetwork) {
					t.Errorf("got %+v and error %v, want ErrUnreadableNetwork", policy, err)
				}
				return
			}
			if row.Decoded == nil || row.LoneSurrogate {
				t.Fatal("a row this test does not understand")
			}
			want := sandbox.NetworkPolicy{Open: !row.Decoded.Block, AllowEgressTo: row.Decoded.Hosts, AllowEgressToCIDRs: row.Decoded.CIDRs}
			if diff := cmp.Diff(want, policy); err != nil || diff != "" {
				t.Errorf("error %v; -airflow +ours\n%s", err, diff)
			}
		})
	}
	stricter.complete(t)
}

// rawPart is a text and how often it stands there, written as [text, times].
type rawPart struct {
	text  string
	times int
}

// UnmarshalJSON reads the pair.
func (p *rawPart) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&p.text, &p.times})
}

func TestDecodingSurvivesAnyNesting(t *testing.T) {
	for _, open := range []string{"[", `{"a":`} {
		if _, err := DecodeNetwork(strings.Repeat(open, 1_000_000)); err == nil {
			t.Errorf("a million of %q was accepted", open)
		}
	}
}

func TestPoliciesAreTheSameWhenTheyAllowTheSame(t *testing.T) {
	base := sandbox.NetworkPolicy{AllowEgressTo: []string{"a.example.org", "b.example.org"}, AllowEgressToCIDRs: []string{"203.0.113.7", "192.0.2.0/24"}}
	for name, other := range map[string]struct {
		policy sandbox.NetworkPolicy
		same   bool
	}{
		"itself":               {base, true},
		"another order":        {sandbox.NetworkPolicy{AllowEgressTo: []string{"b.example.org", "a.example.org"}, AllowEgressToCIDRs: []string{"192.0.2.0/24", "203.0.113.7"}}, true},
		"a repetition":         {sandbox.NetworkPolicy{AllowEgressTo: []string{"a.example.org", "b.example.org", "a.example.org"}, AllowEgressToCIDRs: base.AllowEgressToCIDRs}, true},
		"another case":         {sandbox.NetworkPolicy{AllowEgressTo: []string{"A.example.org", "b.EXAMPLE.org"}, AllowEgressToCIDRs: base.AllowEgressToCIDRs}, true},
		"canonical ranges":     {sandbox.NetworkPolicy{AllowEgressTo: base.AllowEgressTo, AllowEgressToCIDRs: []string{"203.0.113.7/32", "192.0.2.0/255.255.255.0"}}, true},
		"one name less":        {sandbox.NetworkPolicy{AllowEgressTo: []string{"a.example.org"}, AllowEgressToCIDRs: base.AllowEgressToCIDRs}, false},
		"one range more":       {sandbox.NetworkPolicy{AllowEgressTo: base.AllowEgressTo, AllowEgressToCIDRs: []string{"203.0.113.7", "192.0.2.0/24", "198.51.100.0/24"}}, false},
		"a wider range":        {sandbox.NetworkPolicy{AllowEgressTo: base.AllowEgressTo, AllowEgressToCIDRs: []string{"203.0.113.7", "192.0.0.0/16"}}, false},
		"open":                 {sandbox.NetworkPolicy{Open: true, AllowEgressTo: base.AllowEgressTo, AllowEgressToCIDRs: base.AllowEgressToCIDRs}, false},
		"deny all":             {sandbox.NetworkPolicy{}, false},
		"an unreadable range":  {sandbox.NetworkPolicy{AllowEgressTo: base.AllowEgressTo, AllowEgressToCIDRs: []string{"203.0.113.7", "192.0.2.0/240"}}, false},
		"a name instead of it": {sandbox.NetworkPolicy{AllowEgressTo: []string{"a.example.org", "c.example.org"}, AllowEgressToCIDRs: base.AllowEgressToCIDRs}, false},
	} {
		if got := SameNetwork(base, other.policy); got != other.same {
			t.Errorf("%s: SameNetwork = %t, want %t", name, got, other.same)
		}
		if got := SameNetwork(other.policy, base); got != other.same {
			t.Errorf("%s, the other way round: SameNetwork = %t, want %t", name, got, other.same)
		}
	}
	if !SameNetwork(sandbox.NetworkPolicy{}, sandbox.NetworkPolicy{AllowEgressTo: []string{}}) {
		t.Error("an empty list and none must be the same")
	}
}

// FuzzNetworkRoundTrip: whatever we can encode reads back as itself, and the
// bytes are ASCII.
func FuzzNetworkRoundTrip(f *testing.F) {
	f.Add(false, "api.example.org", "203.0.113.0/24")
	f.Add(true, "", "\x7f\u2028\U0001F600")
	f.Add(false, "\"\\\b\f\n\r\t<>&/", "\xff")
	f.Fuzz(func(t *testing.T, open bool, host, cidr string) {
		policy := sandbox.NetworkPolicy{Open: open, AllowEgressTo: []string{host, "x"}, AllowEgressToCIDRs: []string{cidr}}
		tag, err := EncodeNetwork(policy)
		if err != nil {
			return
		}
		for _, b := range []byte(tag) {
			if b < ' ' || b > '~' {
				t.Fatalf("byte %#x in %q", b, tag)
			}
		}
		if !json.Valid([]byte(tag)) {
			t.Fatalf("%q is not JSON", tag)
		}
		decoded, err := DecodeNetwork(tag)
		if diff := cmp.Diff(policy, decoded); err != nil || diff != "" {
			t.Fatalf("error %v\n%s", err, diff)
		}
	})
}

// FuzzDecodeNetwork: any tag is read or refused, and what was read can be
// written and means the same.
func FuzzDecodeNetwork(f *testing.F) {
	f.Add(`{"allow_egress_to":[],"allow_egress_to_cidrs":[],"block_network":true}`)
	f.Add(`{"allow_egress_to":"ab","allow_egress_to_cidrs":{"a":1e400},"block_network":-0.0}`)
	f.Add(`{"allow_egress_to":[NaN,[-Infinity,{"k":"it's\u0001"}],1.5E+300],"allow_egress_to_cidrs":"","block_network":[0]}`)
	f.Add(`{"allow_egress_to":["\ud83d\ude00"],"allow_egress_to_cidrs":[],"block_network":12345678901234567890}`)
	f.Fuzz(func(t *testing.T, tag string) {
		policy, err := DecodeNetwork(tag)
		if err != nil {
			return
		}
		again, err := EncodeNetwork(policy)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := DecodeNetwork(again)
		if diff := cmp.Diff(policy, decoded); err != nil || diff != "" {
			t.Fatalf("error %v\n%s", err, diff)
		}
	})
}
