// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"fmt"

	sdk "github.com/modal-labs/modal-client/go"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// everything is what the lists of a living sandbox hold for an open network.
var everything = sdk.SandboxUpdateNetworkPolicyParams{
	OutboundCIDRAllowlist:   &sdk.Allowlist{Entries: []string{"0.0.0.0/0"}},
	OutboundDomainAllowlist: &sdk.Allowlist{Entries: []string{"*"}},
}

// Network is unsupported: Modal does not tell what it enforces.
func (a *app) Network(_ context.Context, ref sandbox.Ref) (sandbox.NetworkPolicy, bool, error) {
	err := fmt.Errorf("%w: Modal does not tell which network policy it enforces", backend.ErrUnsupported)
	return sandbox.NetworkPolicy{}, false, a.failed("read the network policy of sandbox", ref.Handle, err)
}

// CanSetNetwork allows what an allowlist can say. A living sandbox cannot be
// blocked: an empty allowlist in its place leaves DNS open, which BLOCKED closes
// (measured). And whether one that was blocked at birth can be opened by a list
// is not known.
func (a *app) CanSetNetwork(from, to sandbox.NetworkPolicy) bool {
	if len(a.refuseNetwork(to)) > 0 {
		return false
	}
	return !from.DeniesAll() && !to.DeniesAll() || from.DeniesAll() && to.DeniesAll()
}

// SetNetwork replaces the allowlists; connections that are no longer allowed are
// cut. What holds now is taken from Airflow's tag.
func (a *app) SetNetwork(ctx context.Context, ref sandbox.Ref, policy sandbox.NetworkPolicy) error {
	err := a.changeNetwork(ctx, ref, policy)
	return a.failed("set the network policy of sandbox", ref.Handle, err)
}

func (a *app) changeNetwork(ctx context.Context, ref sandbox.Ref, policy sandbox.NetworkPolicy) error {
	if err := backend.Refused(a.refuseNetwork(policy)); err != nil {
		return err
	}
	s, h, err := a.use(ctx, ref)
	if err != nil {
		return err
	}
	found, err := s.get(ctx, h)
	if err != nil {
		return err
	}
	now, err := airflow.DecodeNetwork(found.Tags[airflow.TagNetwork])
	switch told := err == nil; {
	case told && !a.CanSetNetwork(now, policy):
		return fmt.Errorf("%w: Modal can neither block the network of a living sandbox nor open one that is blocked; replace the sandbox", backend.ErrUnsupported)
	case !told && policy.DeniesAll():
		return fmt.Errorf("%w: no tag tells which network policy it was born with, and Modal cannot block the network of a living sandbox; replace the sandbox", backend.ErrUnsupported)
	case policy.DeniesAll():
		return nil // as it was born
	}
	defer func() { _ = h.Detach() }()
	params := allowlists(policy)
	call := backend.Call{Verb: "SetNetwork", Idempotent: true, Deadline: readWithin}
	return a.caller.Do(ctx, call, func(ctx context.Context) error {
		return s.explain(ctx, h, h.UpdateNetworkPolicy(ctx, params))
	})
}

// allowlists says a policy in lists alone. The client wants both, and an empty
// one allows nothing.
func allowlists(policy sandbox.NetworkPolicy) *sdk.SandboxUpdateNetworkPolicyParams {
	if policy.Open {
		return &everything
	}
	return &sdk.SandboxUpdateNetworkPolicyParams{
		OutboundCIDRAllowlist:   &sdk.Allowlist{Entries: ranges(policy)},
		OutboundDomainAllowlist: &sdk.Allowlist{Entries: policy.AllowEgressTo},
	}
}
