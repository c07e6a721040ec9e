// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

func TestCancelledCreateLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, effect := range []string{"before", "after"} {
		t.Run(effect+" the call took effect", func(t *testing.T) {
			w := newWorld(t)
			p := w.wire()
			ctx, cancel := context.WithCancel(t.Context())
			w.caller.Intercept = func(callCtx context.Context, call backend.Call, attempt func(context.Context) error) error {
				if call.Verb != "create" {
					return attempt(callCtx)
				}
				if effect == "after" {
					if err := attempt(callCtx); err != nil {
						return err
					}
				}
				cancel()
				<-callCtx.Done()
				return callCtx.Err()
			}
			applied := p.create(ctx, map[string]string{"connection_uri": w.uri(), "lifetime": "1h"})
			if !strings.Contains(said(applied.Diagnostics), "was not created") {
				t.Errorf("said %q", said(applied.Diagnostics))
			}
			if state := p.decode(applied.NewState); state != nil {
				t.Errorf("the state has %v", state)
			}
			if left := w.sandboxes(); len(left) > 0 {
				t.Errorf("sandboxes are left: %v", left)
			}
		})
	}
}

func TestCreateWhoseReplyIsLostIsAdopted(t *testing.T) {
	w := newWorld(t)
	p := w.wire()
	w.caller.Intercept = func(ctx context.Context, call backend.Call, attempt func(context.Context) error) error {
		err := attempt(ctx)
		if call.Verb == "create" && err == nil {
			return backend.ErrUnknownOutcome
		}
		return err
	}
	applied := p.create(t.Context(), map[string]string{"connection_uri": w.uri(), "lifetime": "1h"})
	if len(applied.Diagnostics) > 0 {
		t.Fatal(said(applied.Diagnostics))
	}
	if got, want := p.decode(applied.NewState)["handle"], w.only().Handle; got != want {
		t.Errorf("the state has %s, the place has %s", got, want)
	}
}

func TestReadSaysHowASandboxWent(t *testing.T) {
	t.Parallel()
	for want, late := range map[string]bool{"expired at": true, "it ended by itself, or somebody destroyed it": false} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t)
			p := w.wire()
			applied := p.create(t.Context(), map[string]string{"connection_uri": w.uri(), "lifetime": "1h"})
			if err := w.backend().Destroy(t.Context(), w.only().Ref); err != nil {
				t.Fatal(err)
			}
			if late {
				w.clock.Advance(time.Hour)
			}
			read := p.read(applied.NewState, applied.Private)
			if !strings.HasPrefix(said(read.Diagnostics), "WARNING") || !strings.Contains(said(read.Diagnostics), want) {
				t.Errorf("said %q", said(read.Diagnostics))
			}
			if p.decode(read.NewState) != nil {
				t.Error("the state still has it")
			}
		})
	}
}

func TestImportByIdentityFindsTheSameSandbox(t *testing.T) {
	w := newWorld(t)
	p := w.wire()
	made := p.create(t.Context(), map[string]string{"connection_uri": w.uri(), "lifetime": "1h"})
	text := tftypes.String
	kind := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"location": text, "handle": text}}
	identity := p.encode(kind, tftypes.NewValue(kind, map[string]tftypes.Value{
		"location": tftypes.NewValue(text, w.uri()),
		"handle":   tftypes.NewValue(text, w.only().Handle),
	}))
	imported, err := p.server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
		TypeName: instanceType,
		Identity: &tfprotov6.ResourceIdentityData{IdentityData: identity},
	})
	if err != nil || len(imported.Diagnostics) > 0 {
		t.Fatalf("import: %v %s", err, said(imported.Diagnostics))
	}
	read := p.read(imported.ImportedResources[0].State, imported.ImportedResources[0].Private)
	if len(read.Diagnostics) > 0 {
		t.Fatal(said(read.Diagnostics))
	}
	state := p.decode(read.NewState)
	if state["handle"] != w.only().Handle || state["connection_uri"] != w.uri() || state["lifetime"] != "1h" {
		t.Errorf("read %v", state)
	}
	for after, given := range map[string]*tfprotov6.ResourceIdentityData{"create": made.NewIdentity, "read": read.NewIdentity} {
		if given == nil || !reflect.DeepEqual(given.IdentityData, identity) {
			t.Errorf("the identity after the %s is %v", after, given)
		}
	}
}

func TestUpdateOfASandboxThatEndedAsksForANewPlan(t *testing.T) {
	w := newWorld(t)
	p := w.wire()
	applied := p.create(t.Context(), map[string]string{"connection_uri": w.uri(), "lifetime": "1h"})
	next := p.decode(applied.NewState)
	next["owner"] = "terraform:a"
	planned := p.instance(next)
	if err := w.backend().Destroy(t.Context(), w.only().Ref); err != nil {
		t.Fatal(err)
	}
	updated, err := p.server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: instanceType, PriorState: applied.NewState, PlannedState: planned, PlannedPrivate: applied.Private,
		Config: p.instance(map[string]string{"connection_uri": w.uri(), "lifetime": "1h", "owner": "terraform:a"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said(updated.Diagnostics), "Plan again") {
		t.Errorf("said %q", said(updated.Diagnostics))
	}
	if state := p.decode(updated.NewState); state["handle"] == "" || state["owner"] != "" {
		t.Errorf("the state has %v", state)
	}
}

func TestUpdateThatFailsHalfwayLeavesAnHonestState(t *testing.T) {
	w := newWorld(t)
	p := w.wire()
	applied := p.create(t.Context(), map[string]string{"connection_uri": w.uri(), "lifetime": "1h"})
	next := p.decode(applied.NewState)
	next["owner"], next["lifetime"] = "terraform:a", "2h"
	delete(next, "expires_at")
	w.failing("edit-tags")()
	updated, err := p.server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: instanceType, PriorState: applied.NewState, PlannedState: p.instance(next), PlannedPrivate: applied.Private,
		Config: p.instance(map[string]string{"connection_uri": w.uri(), "lifetime": "2h", "owner": "terraform:a"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said(updated.Diagnostics), "not wholly updated") {
		t.Errorf("said %q", said(updated.Diagnostics))
	}
	state := p.decode(updated.NewState)
	if state["owner"] != "" || state["lifetime"] != "1h" {
		t.Errorf("the state tells of what did not happen: %v", state)
	}
	if ends := w.only().ServerEnds.Format("2006-01-02T15:04:05Z07:00"); state["expires_at"] != ends {
		t.Errorf("the state says it ends at %s, the backend %s", state["expires_at"], ends)
	}
}

// A saved plan is planned once more when it is applied, and must come out the
// same however late that is.
func TestPlanDoesNotLookAtTheClock(t *testing.T) {
	w := newWorld(t)
	p := w.wire()
	config := map[string]string{"connection_uri": w.uri(), "lifetime": "1h", "renew_before": "30m"}
	applied := p.create(t.Context(), config)
	read := p.read(applied.NewState, applied.Private)
	config["owner"] = "terraform:a"
	first := p.plan(read.NewState, read.Private, config)
	w.clock.Advance(2 * time.Hour)
	again := p.plan(read.NewState, read.Private, config)
	if !reflect.DeepEqual(first, again) {
		t.Errorf("planned %v, and later %v", first, again)
	}
	late := p.read(applied.NewState, applied.Private)
	if replaced := p.plan(late.NewState, late.Private, config); len(replaced.RequiresReplace) == 0 {
		t.Error("Read left no verdict to the plan")
	}
}
