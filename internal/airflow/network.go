// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// EncodeNetwork returns the exact bytes that Airflow stamps for policy: compact
// JSON with sorted keys, pure ASCII, lists never null, entries in their order.
// It fails only on text that is not valid UTF-8; whether the policy makes sense
// is for CheckNetwork to say.
func EncodeNetwork(policy sandbox.NetworkPolicy) (string, error) {
	var b strings.Builder
	b.WriteString(`{"allow_egress_to":`)
	if err := encodeList(&b, policy.AllowEgressTo); err != nil {
		return "", fmt.Errorf("encode allow_egress_to: %w", err)
	}
	b.WriteString(`,"allow_egress_to_cidrs":`)
	if err := encodeList(&b, policy.AllowEgressToCIDRs); err != nil {
		return "", fmt.Errorf("encode allow_egress_to_cidrs: %w", err)
	}
	fmt.Fprintf(&b, `,"block_network":%t}`, !policy.Open)
	return b.String(), nil
}

func encodeList(b *strings.Builder, entries []string) error {
	b.WriteByte('[')
	for i, entry := range entries {
		if !utf8.ValidString(entry) {
			return fmt.Errorf("entry %d (%q) is not valid UTF-8", i, entry)
		}
		if i > 0 {
			b.WriteByte(',')
		}
		encodeString(b, entry)
	}
	b.WriteByte(']')
	return nil
}

// encodeString writes s as Python's json module does with ensure_ascii: other
// than encoding/json it escapes DEL and all that is not ASCII, and leaves <, >
// and & alone.
func encodeString(b *strings.Builder, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case ' ' <= r && r <= '~':
			b.WriteRune(r)
		case r <= 0xFFFF:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		}
	}
	b.WriteByte('"')
}

// ErrUnreadableNetwork marks a network tag that Airflow would call unknown, or
// that would kill the task that reads it.
var ErrUnreadableNetwork = errors.New("unreadable network tag")

// DecodeNetwork reads tag as leniently as Airflow does: all three keys must be
// there and others are ignored, block_network counts by Python's truth, and a
// list may be a string, an object or hold anything. Text that is not valid
// Unicode and nesting beyond maxNesting are refused.
func DecodeNetwork(tag string) (sandbox.NetworkPolicy, error) {
	policy, err := decodeNetwork(tag)
	if err != nil {
		return sandbox.NetworkPolicy{}, fmt.Errorf("%w: %w", ErrUnreadableNetwork, err)
	}
	return policy, nil
}

func decodeNetwork(tag string) (policy sandbox.NetworkPolicy, err error) {
	document, err := parseJSON(tag)
	if err != nil {
		return policy, err
	}
	fields, ok := document.(*object)
	if !ok {
		return policy, errors.New("not an object")
	}
	block, ok := fields.values["block_network"]
	if !ok {
		return policy, errors.New("block_network is missing")
	}
	policy.Open = !truth(block)
	if policy.AllowEgressTo, err = decodeList(fields, "allow_egress_to"); err != nil {
		return policy, err
	}
	policy.AllowEgressToCIDRs, err = decodeList(fields, "allow_egress_to_cidrs")
	return policy, err
}

// decodeList iterates as Python does: over the elements of a list, the
// characters of a string, the keys of an object. Empty is nil.
func decodeList(fields *object, key string) ([]string, error) {
	value, ok := fields.values[key]
	if !ok {
		return nil, fmt.Errorf("%s is missing", key)
	}
	var entries []string
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			entries = append(entries, text(element))
		}
	case string:
		for _, character := range v {
			entries = append(entries, string(character))
		}
	case *object:
		entries = append(entries, v.keys...)
	default:
		return nil, fmt.Errorf("%s is not a list", key)
	}
	return entries, nil
}

// SameNetwork reports whether a and b allow the same: hostnames without regard
// to case, ranges in canonical form, no regard to order and repetition.
func SameNetwork(a, b sandbox.NetworkPolicy) bool {
	return a.Open == b.Open &&
		slices.Equal(distinct(a.AllowEgressTo, strings.ToLower), distinct(b.AllowEgressTo, strings.ToLower)) &&
		slices.Equal(distinct(a.AllowEgressToCIDRs, canonicalCIDR), distinct(b.AllowEgressToCIDRs, canonicalCIDR))
}

func distinct(entries []string, canonical func(string) string) []string {
	set := make([]string, len(entries))
	for i, entry := range entries {
		set[i] = canonical(entry)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

// canonicalCIDR leaves alone what is not a range that Airflow would accept.
func canonicalCIDR(entry string) string {
	if canonical, err := CheckCIDR(entry); err == nil {
		return canonical
	}
	return entry
}
