// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"errors"
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// maxHostname is the longest name DNS can carry, in characters of its textual
// form (RFC 1035). Airflow has no limit.
const maxHostname = 253

// NetworkProblem is one thing that is wrong with a policy, and where.
type NetworkProblem struct {
	Attribute string // block_network, allow_egress_to or allow_egress_to_cidrs
	Index     int    // of the list entry; -1: the attribute as a whole
	Err       error
}

// CheckNetwork returns all that is wrong with policy by Airflow's strictest
// rules (Modal with egress_enforcement="sni"), stricter where those have holes.
func CheckNetwork(policy sandbox.NetworkPolicy) []NetworkProblem {
	var problems []NetworkProblem
	if policy.Open && (len(policy.AllowEgressTo) > 0 || len(policy.AllowEgressToCIDRs) > 0) {
		problems = append(problems, NetworkProblem{"block_network", -1, errors.New(
			"an open network (block_network = false) contradicts a list of what may be reached; remove the lists, or set block_network = true")})
	}
	for i, entry := range policy.AllowEgressTo {
		if err := CheckHostname(entry); err != nil {
			problems = append(problems, NetworkProblem{"allow_egress_to", i, err})
		}
	}
	for i, entry := range policy.AllowEgressToCIDRs {
		if _, err := CheckCIDR(entry); err != nil {
			problems = append(problems, NetworkProblem{"allow_egress_to_cidrs", i, err})
		}
	}
	return problems
}

// CheckHostname refuses what cannot stand in allow_egress_to. A name is two or
// more labels of letters, digits and inner dashes, after one optional leading
// "*."; an address or a last label of digits is no name.
func CheckHostname(entry string) error {
	name := strings.TrimPrefix(entry, "*.")
	if len(name) > maxHostname {
		return fmt.Errorf("a hostname of %d characters is longer than the %d that DNS can carry", len(name), maxHostname)
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return fmt.Errorf("%q is an address, not a hostname; put it into allow_egress_to_cidrs", entry)
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if err := checkLabel(label); err != nil {
			return fmt.Errorf("%q is not a hostname: %w", entry, err)
		}
	}
	if len(labels) < 2 {
		return fmt.Errorf("%q has only one label; a hostname needs a dot, such as api.example.org or *.example.org", entry)
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" {
		return fmt.Errorf("%q ends in digits only, as an address does; ranges belong into allow_egress_to_cidrs", entry)
	}
	return nil
}

// maxLabel is the longest label of a hostname (RFC 1035), in characters.
const maxLabel = 63

func checkLabel(label string) error {
	for _, r := range label {
		if !isASCIILetter(r) && !isASCIIDigit(r) && r != '-' {
			return fmt.Errorf("%q cannot be part of it (no scheme, port, path, space or \"*\" but one leading \"*.\"; write international names in their xn-- form)", r)
		}
	}
	switch {
	case label == "":
		return errors.New("it has an empty label (check for a leading, trailing or double dot)")
	case len(label) > maxLabel:
		return fmt.Errorf("a label of %d characters is longer than %d", len(label), maxLabel)
	case label[0] == '-' || label[len(label)-1] == '-':
		return fmt.Errorf("the label %q begins or ends with a dash", label)
	}
	return nil
}

// CheckCIDR returns the canonical form of an IPv4 range, which is what Airflow
// sends to the vendor, or says why it cannot stand in allow_egress_to_cidrs. As
// in Python's ipaddress, outer white space is dropped, a bare address means
// itself, and a netmask or a hostmask may stand for the prefix length.
func CheckCIDR(entry string) (canonical string, err error) {
	host, mask, masked := strings.Cut(trimSpace(entry), "/")
	address, err := netip.ParseAddr(host)
	if err != nil {
		return "", fmt.Errorf("%q is not an IPv4 address or range, such as 203.0.113.7 or 203.0.113.0/24", entry)
	}
	if !address.Is4() {
		return "", fmt.Errorf("%q is IPv6, which cannot be allowed; only IPv4 ranges can", entry)
	}
	length := address.BitLen()
	if masked {
		var ok bool
		if length, ok = prefixLength(mask); !ok {
			return "", fmt.Errorf("%q has no valid prefix length or netmask after the slash; a length is 1 to 32", entry)
		}
	}
	prefix := netip.PrefixFrom(address, length)
	switch {
	case prefix.Masked() != prefix:
		return "", fmt.Errorf("%q has host bits set; the range is written %s", entry, prefix.Masked())
	case length == 0:
		return "", fmt.Errorf("%q matches every address; to open the network say so with block_network = false", entry)
	}
	return prefix.String(), nil
}

// prefixLength reads what stands after the slash: digits, a netmask or a
// hostmask, tried in this order.
func prefixLength(mask string) (length int, ok bool) {
	if mask != "" && strings.Trim(mask, "0123456789") == "" {
		length, err := strconv.Atoi(mask)
		return length, err == nil && length <= 32
	}
	address, err := netip.ParseAddr(mask)
	if err != nil || !address.Is4() {
		return 0, false
	}
	four := address.As4()
	value := uint32(four[0])<<24 | uint32(four[1])<<16 | uint32(four[2])<<8 | uint32(four[3])
	if ones := bits.LeadingZeros32(^value); value<<ones == 0 {
		return ones, true
	}
	if zeros := bits.LeadingZeros32(value); ^value>>(32-zeros)<<(32-zeros) == ^value {
		return zeros, true
	}
	return 0, false
}

func isASCIILetter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }
func isASCIIDigit(r rune) bool  { return '0' <= r && r <= '9' }
