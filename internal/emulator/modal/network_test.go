// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"fmt"
	"net"
	"testing"

	sdk "github.com/modal-labs/modal-client/go"
)

// TestNetworkIsCutUnlessThePolicyIsOpen tries to reach the server itself.
func TestNetworkIsCutUnlessThePolicyIsOpen(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	list := func(entries ...string) *sdk.Allowlist { return &sdk.Allowlist{Entries: entries} }
	for name, test := range map[string]struct {
		params sdk.SandboxCreateParams
		reach  bool
	}{
		"open":               {sdk.SandboxCreateParams{}, true},
		"blocked":            {sdk.SandboxCreateParams{BlockNetwork: true}, false},
		"some addresses":     {sdk.SandboxCreateParams{OutboundCIDRAllowlist: list("127.0.0.0/8")}, false},
		"no addresses":       {sdk.SandboxCreateParams{OutboundCIDRAllowlist: list()}, false},
		"some hosts":         {sdk.SandboxCreateParams{OutboundDomainAllowlist: list("example.org")}, false},
		"all addresses":      {sdk.SandboxCreateParams{OutboundCIDRAllowlist: list("0.0.0.0/0")}, true},
		"all, and some host": {sdk.SandboxCreateParams{OutboundCIDRAllowlist: list("0.0.0.0/0"), OutboundDomainAllowlist: list("example.org")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.reaches(s, c.box(&test.params)); got != test.reach {
				t.Errorf("reaches the server: %v", got)
			}
		})
	}
}

func (c *client) reaches(s *Server, box *sdk.Sandbox) bool {
	c.t.Helper()
	host, port, _ := net.SplitHostPort(s.address)
	out, err := c.exec(box, []string{"bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%s", host, port)}, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return out.code == 0
}

func TestChangedPolicyHoldsForTheNextCommand(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	box := c.box(nil)
	change := func(cidr string) {
		t.Helper()
		if err := box.UpdateNetworkPolicy(c.ctx, &sdk.SandboxUpdateNetworkPolicyParams{
			OutboundCIDRAllowlist: &sdk.Allowlist{Entries: []string{cidr}}, OutboundDomainAllowlist: &sdk.Allowlist{},
		}); err != nil {
			t.Fatal(err)
		}
	}
	change("203.0.113.0/24")
	if c.reaches(s, box) {
		t.Error("the network is open still")
	}
	change("0.0.0.0/0")
	if !c.reaches(s, box) {
		t.Error("the network is cut still")
	}
}
