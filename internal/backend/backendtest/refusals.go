// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// wish is a spec that asks for one thing more than the plainest.
type wish struct {
	name       string
	attributes []string // what a refusal of it may name
	ask        func(*sandbox.Spec)
	promised   func(backend.Capabilities) bool // what Capabilities say; nil: nothing
	costly     bool                            // not made where it is accepted
}

var wishes = []wish{
	{name: "an open network", attributes: []string{"network_policy"},
		ask:      func(s *sandbox.Spec) { s.Network = sandbox.NetworkPolicy{Open: true} },
		promised: func(c backend.Capabilities) bool { return c.OpenNetwork }},
	{name: "no network", attributes: []string{"network_policy"},
		ask:      func(s *sandbox.Spec) { s.Network = sandbox.NetworkPolicy{} },
		promised: func(c backend.Capabilities) bool { return c.BlockNetwork }},
	{name: "some hosts", attributes: []string{"network_policy"},
		ask: func(s *sandbox.Spec) {
			s.Network = sandbox.NetworkPolicy{AllowEgressTo: []string{"packages.example.org"}}
		},
		promised: func(c backend.Capabilities) bool { return c.AllowHostnames }},
	{name: "some address ranges", attributes: []string{"network_policy"},
		ask: func(s *sandbox.Spec) {
			s.Network = sandbox.NetworkPolicy{AllowEgressToCIDRs: []string{"192.0.2.0/24"}}
		},
		promised: func(c backend.Capabilities) bool { return c.AllowCIDRs }},
	{name: "an idle timeout", attributes: []string{"idle_timeout"},
		ask: func(s *sandbox.Spec) { s.IdleTimeout = 5 * time.Minute }},
	{name: "half a core", attributes: []string{"cpu"}, ask: func(s *sandbox.Spec) { s.CPU = 0.5 }},
	{name: "512 MiB", attributes: []string{"memory_mib"}, ask: func(s *sandbox.Spec) { s.MemoryMiB = 512 }},
	{name: "a GPU", attributes: []string{"gpu"}, ask: func(s *sandbox.Spec) { s.GPU = "any" }, costly: true},
	{name: "a region", attributes: []string{"region"}, ask: func(s *sandbox.Spec) { s.Region = "us-east" }, costly: true},
	{name: "a cloud", attributes: []string{"cloud"}, ask: func(s *sandbox.Spec) { s.Cloud = "aws" }, costly: true},
	{name: "no lifetime", attributes: []string{"lifetime"}, ask: func(s *sandbox.Spec) { s.Lifetime = 0 },
		promised: func(backend.Capabilities) bool { return false }},
	{name: "a negative lifetime", attributes: []string{"lifetime"}, ask: func(s *sandbox.Spec) { s.Lifetime = -time.Hour },
		promised: func(backend.Capabilities) bool { return false }},
	{name: "several wishes", attributes: []string{"gpu", "region", "cloud"}, costly: true,
		ask: func(s *sandbox.Spec) { s.GPU, s.Region, s.Cloud = "any", "us-east", "aws" }},
}

func testRefusals(t *testing.T, p *place) {
	t.Run("the plainest sandbox is not refused", func(t *testing.T) {
		if refusals := p.Refuse(p.spec()); len(refusals) != 0 {
			t.Errorf("Refuse = %+v, want none", refusals)
		}
	})
	for _, w := range slices.Concat(wishes, lifetimeWishes(p.caps)) {
		t.Run("create refuses exactly what refuse lists/"+w.name, func(t *testing.T) { testWish(t, p, w) })
	}
	t.Run("an image that does not exist leaves nothing", func(t *testing.T) {
		req := p.request(p.spec(), nil)
		req.Spec.Image = "taskowned.invalid/no/such:image"
		if err := p.wantCreateFails(t, req); errors.Is(err, backend.ErrUnknownOutcome) {
			t.Errorf("Create = %v, which leaves open whether there is one", err)
		}
	})
}

func lifetimeWishes(caps backend.Capabilities) []wish {
	never := func(backend.Capabilities) bool { return false }
	var extra []wish
	if caps.LifetimeMin > time.Second {
		extra = append(extra, wish{name: "too short a lifetime", attributes: []string{"lifetime"}, promised: never,
			ask: func(s *sandbox.Spec) { s.Lifetime = caps.LifetimeMin - time.Second }})
	}
	if caps.LifetimeMax > 0 {
		extra = append(extra, wish{name: "too long a lifetime", attributes: []string{"lifetime"}, promised: never,
			ask: func(s *sandbox.Spec) { s.Lifetime = caps.LifetimeMax + time.Second }})
	}
	return extra
}

func testWish(t *testing.T, p *place, w wish) {
	spec := p.spec()
	w.ask(&spec)
	refusals := p.Refuse(spec)
	for _, r := range refusals {
		if !slices.Contains(w.attributes, r.Attribute) || r.Reason == "" {
			t.Errorf("Refuse names %q because of %q; want one of %q and a reason", r.Attribute, r.Reason, w.attributes)
		}
	}
	if accepted := len(refusals) == 0; w.promised != nil && accepted != w.promised(p.caps) {
		t.Errorf("Refuse = %+v, which is not what Capabilities say: %+v", refusals, p.caps)
	}
	req := p.request(spec, nil)
	switch {
	case len(refusals) > 0:
		err := p.wantCreateFails(t, req)
		wantError(t, "Create", err, backend.ErrUnenforceable)
	case w.costly:
		t.Skip("accepted, and not made because it costs money or depends on the account")
	default:
		p.sh(t, p.createFrom(t, req).Ref, "true")
	}
}

// wantCreateFails calls the backend's own Create, which must leave nothing.
func (p *place) wantCreateFails(t *testing.T, req backend.Request) error {
	t.Helper()
	before := p.leftovers(t)
	made, err := p.Create(t.Context(), req)
	if err == nil {
		t.Errorf("Create made %s, want an error", made.Handle)
		p.gone(t, made.Ref)
		return nil
	}
	p.wantNothing(t, req.Mark)
	p.wantNoNewLeftovers(t, before)
	return err
}
