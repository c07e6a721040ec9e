// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func testNetwork(t *testing.T, p *place) {
	editor, ok := p.Backend.(backend.NetworkEditor)
	if !ok {
		t.Skip("not a NetworkEditor")
	}
	for name, policy := range map[string]sandbox.NetworkPolicy{
		"open":           {Open: true},
		"blocked":        {},
		"hosts":          {AllowEgressTo: []string{"packages.example.org", "*.example.net"}},
		"address ranges": {AllowEgressToCIDRs: []string{"192.0.2.0/24", "198.51.100.7/32"}},
	} {
		t.Run("the policy at birth is read back/"+name, func(t *testing.T) {
			spec := p.spec()
			spec.Network = policy
			if refusals := p.Refuse(spec); len(refusals) > 0 {
				t.Skipf("refused: %s", refusals[0].Reason)
			}
			ref := p.createFrom(t, p.request(spec, nil)).Ref
			if _, _, err := editor.Network(t.Context(), ref); errors.Is(err, backend.ErrUnsupported) {
				t.Skipf("the backend does not tell: %v", err)
			}
			wantPolicy(t, editor, ref, policy)
			if !p.caps.BlockNetwork {
				return
			}
			err := editor.SetNetwork(t.Context(), ref, sandbox.NetworkPolicy{})
			if can := editor.CanSetNetwork(policy, sandbox.NetworkPolicy{}); can != (err == nil) {
				t.Errorf("CanSetNetwork to blocked is %v, but SetNetwork: %v", can, err)
			}
			if err != nil {
				wantError(t, "SetNetwork to blocked", err, backend.ErrUnsupported)
				wantPolicy(t, editor, ref, policy)
				return
			}
			wantPolicy(t, editor, ref, sandbox.NetworkPolicy{})
		})
	}
}

func wantPolicy(t *testing.T, editor backend.NetworkEditor, ref sandbox.Ref, want sandbox.NetworkPolicy) {
	t.Helper()
	got, _, err := editor.Network(t.Context(), ref)
	if err != nil {
		t.Fatalf("Network: %v", err)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
}
