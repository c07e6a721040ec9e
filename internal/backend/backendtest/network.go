// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"context"
	"errors"
	"io"
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
	t.Run("blocked in place is blocked for what runs already", func(t *testing.T) { testBlockWhileRunning(t, p, editor) })
}

// testBlockWhileRunning blocks the network of a command that reaches it again
// and again.
func testBlockWhileRunning(t *testing.T, p *place, editor backend.NetworkEditor) {
	if !p.caps.OpenNetwork || !p.caps.BlockNetwork || len(p.Reach) == 0 {
		t.Skip("no network to open and to block, or the factory knows no command that reaches it")
	}
	spec := p.spec()
	spec.Network.Open = true
	ref := p.createFrom(t, p.request(spec, nil)).Ref
	const reaching = `while :; do "$@" && echo x >> beat; sleep 0.1; done`
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cmd := backend.Command{Argv: append([]string{"sh", "-c", reaching, "sh"}, p.Reach...), Timeout: 10 * commandTimeout}
		_, _ = p.Exec(ctx, ref, cmd)
	}()
	defer func() { cancel(); <-ended }()
	if !p.eventually(t, func() bool {
		_, err := p.ReadFile(t.Context(), ref, p.in("beat"), 1<<20, io.Discard)
		return err == nil
	}) {
		t.Fatal("the network is not reached while it is open")
	}
	if err := editor.SetNetwork(t.Context(), ref, sandbox.NetworkPolicy{}); err != nil {
		wantError(t, "SetNetwork to blocked", err, backend.ErrUnsupported)
		t.Skip("it cannot be blocked in place")
	}
	p.wantStill(t, ref)
	if got := p.exec(t, ref, backend.Command{Argv: p.Reach}); got.ExitCode == 0 {
		t.Error("a new command reaches the network, which is blocked")
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
