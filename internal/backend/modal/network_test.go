// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"errors"
	"slices"
	"testing"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var (
	blocked   = sandbox.NetworkPolicy{}
	openWorld = sandbox.NetworkPolicy{Open: true}
	oneRange  = sandbox.NetworkPolicy{AllowEgressToCIDRs: []string{"192.0.2.7"}}
	oneName   = sandbox.NetworkPolicy{AllowEgressTo: []string{"api.example.org"}}
	bad       = sandbox.NetworkPolicy{AllowEgressToCIDRs: []string{"0.0.0.0/0"}}
)

// withPolicy makes a sandbox as Terraform does, its tag included.
func withPolicy(t *testing.T, a *app, policy sandbox.NetworkPolicy) sandbox.Ref {
	t.Helper()
	req := request()
	req.Spec.Network = policy
	tag, err := airflow.EncodeNetwork(policy)
	if err != nil {
		t.Fatal(err)
	}
	req.Tags[airflow.TagNetwork] = tag
	s, err := backend.Create(t.Context(), a, req)
	if err != nil {
		t.Fatal(err)
	}
	return s.Ref
}

func TestAPolicyChangesInPlaceOnlyWhereItHoldsAsAtBirth(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:?egress_enforcement=sni")
	for _, test := range []struct {
		name     string
		from, to sandbox.NetworkPolicy
		can      bool
	}{
		{"open to a range", openWorld, oneRange, true},
		{"a range to a name", oneRange, oneName, true},
		{"a name to open", oneName, openWorld, true},
		{"blocked to blocked", blocked, blocked, true},
		{"a range to blocked, which leaves DNS open", oneRange, blocked, false},
		{"blocked to a range", blocked, oneRange, false},
		{"blocked to open", blocked, openWorld, false},
		{"a range to all ranges", oneRange, bad, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := a.CanSetNetwork(test.from, test.to); got != test.can {
				t.Errorf("CanSetNetwork = %t, want %t", got, test.can)
			}
			ref := withPolicy(t, a, test.from)
			before := policyOf(t, server, ref)
			err := a.SetNetwork(t.Context(), ref, test.to)
			after := policyOf(t, server, ref)
			if !test.can {
				if !errors.Is(err, backend.ErrUnsupported) && !errors.Is(err, backend.ErrUnenforceable) {
					t.Errorf("SetNetwork = %v, want a refusal", err)
				}
				if after != before {
					t.Errorf("the policy became %v", after)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if test.to.DeniesAll() != (after.GetNetworkAccessType() == pb.NetworkAccess_BLOCKED) {
				t.Errorf("the policy became %v", after)
			}
		})
	}
}

func TestTheListsOfALivingSandboxAreThoseOfANewOne(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:?egress_enforcement=sni")
	policy := sandbox.NetworkPolicy{AllowEgressTo: []string{"*.example.org"}, AllowEgressToCIDRs: []string{"192.0.2.0/24", "198.51.100.7"}}
	born, changed := withPolicy(t, a, policy), withPolicy(t, a, openWorld)
	if err := a.SetNetwork(t.Context(), changed, policy); err != nil {
		t.Fatal(err)
	}
	want, got := policyOf(t, server, born), policyOf(t, server, changed)
	if got.GetNetworkAccessType() != want.GetNetworkAccessType() || !slices.Equal(got.GetAllowedCidrs(), want.GetAllowedCidrs()) ||
		!slices.Equal(got.GetAllowedDomains(), want.GetAllowedDomains()) {
		t.Errorf("changed to %v; one born with it has %v", got, want)
	}
}

func policyOf(t *testing.T, server *emulator.Server, ref sandbox.Ref) *pb.NetworkAccess {
	t.Helper()
	for _, s := range server.Sandboxes() {
		if s.ID == ref.Handle {
			return s.Policy
		}
	}
	t.Fatalf("%s is not there", ref.Handle)
	return nil
}

func TestABlockedNetworkIsNotClaimedWhereNoTagTellsOfIt(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	for name, damage := range map[string]func(sandbox.Tags){
		"no tag":       func(tags sandbox.Tags) { delete(tags, airflow.TagNetwork) }, // as Airflow leaves an open one
		"a broken tag": func(tags sandbox.Tags) { tags[airflow.TagNetwork] = "{" },
	} {
		ref := withPolicy(t, a, openWorld)
		if err := backend.EditTags(t.Context(), a, ref, damage); err != nil {
			t.Fatal(err)
		}
		before := policyOf(t, server, ref)
		if err := a.SetNetwork(t.Context(), ref, blocked); !errors.Is(err, backend.ErrUnsupported) {
			t.Errorf("%s: SetNetwork = %v, although the network is %v", name, err, before)
		}
	}
}
