// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timetypes/timetypes"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// renewing is a backend that moves ends.
type renewing struct {
	backend.Backend
	backend.Renewer
}

func TestRenewalMakesTheHandleUnknownOnlyWhereItRotates(t *testing.T) {
	longer := func(m *instanceModel) { m.Lifetime = types.StringValue("2h") }
	earlier := func(m *instanceModel) { m.RenewBefore = types.StringValue("30m") }
	endless := func(m *instanceModel) { m.ExpiresAt = timetypes.NewRFC3339Null() }
	for name, tc := range map[string]struct {
		due             due
		born, edit      func(*instanceModel)
		expires, handle [2]bool // unknown where the backend renews, and where it does not
		perhaps         bool
	}{
		"nothing is due":              {},
		"a renewal is due":            {due: renewalDue, expires: [2]bool{true, true}, handle: [2]bool{false, true}},
		"a longer life":               {edit: longer, expires: [2]bool{true, true}, handle: [2]bool{false, true}},
		"an earlier renewal":          {edit: earlier, expires: [2]bool{true, true}, handle: [2]bool{false, true}, perhaps: true},
		"tags are to be repaired":     {due: repairDue, expires: [2]bool{true, true}},
		"no end is known, tags broke": {due: repairDue, born: endless, expires: [2]bool{true, true}, handle: [2]bool{false, true}},
	} {
		t.Run(name, func(t *testing.T) {
			for i, b := range []backend.Backend{renewing{}, fixed{}} {
				state := sample()
				state.Handle, state.ExpiresAt = types.StringValue("sb"), momentValue(noon.Add(time.Hour))
				if tc.born != nil {
					tc.born(&state)
				}
				plan := state
				if tc.edit != nil {
					tc.edit(&plan)
				}
				var diags diag.Diagnostics
				planRenewal(state, &plan, opened(t, "local:///a", b), tc.due, &diags)
				if plan.ExpiresAt.IsUnknown() != tc.expires[i] || plan.Handle.IsUnknown() != tc.handle[i] {
					t.Errorf("%T: handle %s, expires_at %s", b, plan.Handle, plan.ExpiresAt)
				}
				if warned := len(diags) == 1; warned != tc.handle[i] {
					t.Errorf("%T: said %v", b, diags)
				}
				if len(diags) == 1 && strings.Contains(diags[0].Detail(), "If the renewal is due") != tc.perhaps {
					t.Errorf("%T: said %v", b, diags)
				}
			}
		})
	}
}

// listing is a backend that lists what it is given.
type listing struct {
	backend.Backend
	all []sandbox.Sandbox
}

func (l listing) List(context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		for _, s := range l.all {
			if !yield(s, nil) {
				return
			}
		}
	}
}

func TestStraysAreWhatStandsInVainForASandboxOfThisState(t *testing.T) {
	successor := func(handle, replaces string, state sandbox.State, retiredAt string) sandbox.Sandbox {
		tags := sandbox.Tags{sandbox.TagReplaces: replaces}
		setOrDelete(tags, sandbox.TagRetiredAt, retiredAt)
		return sandbox.Sandbox{Ref: sandbox.Ref{Handle: handle}, State: state, Tags: tags, TagsKnown: true}
	}
	conn := opened(t, "local:///a", plain{})
	conn.Snapshot = backend.NewSnapshot(listing{all: []sandbox.Sandbox{
		{Ref: sandbox.Ref{Handle: "sb"}, State: sandbox.Running, TagsKnown: true},
		successor("stray", "sb", sandbox.Running, ""),
		successor("starting", "sb", sandbox.Starting, ""),
		successor("known already", "sb", sandbox.Running, "1796040000"),
		successor("ending", "sb", sandbox.Stopping, ""),
		successor("of another", "other", sandbox.Running, ""),
	}})
	if _, err := conn.Snapshot.Get(t.Context(), sandbox.Ref{Handle: "sb"}); err != nil {
		t.Fatal(err)
	}
	want := []sandbox.Ref{{Handle: "stray"}, {Handle: "starting"}}
	if got := (memory{}).strays(conn, "sb"); !slices.Equal(got, want) {
		t.Errorf("strays are %v, want %v", got, want)
	}
	if got := (memory{Adopted: true}).strays(conn, "sb"); len(got) > 0 {
		t.Errorf("of an imported sandbox strays are %v", got)
	}
}
