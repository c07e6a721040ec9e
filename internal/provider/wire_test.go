// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

const instanceType = "sandbox_instance"

// wire speaks Terraform's protocol to the provider itself, for what Terraform
// cannot be made to do here: end a call at a chosen moment, import by identity.
type wire struct {
	t      *testing.T
	server tfprotov6.ProviderServer
	schema tftypes.Object
}

func (w *world) wire() *wire {
	w.t.Helper()
	server, err := w.factories()["sandbox"]()
	if err != nil {
		w.t.Fatal(err)
	}
	schemas, err := server.GetProviderSchema(w.t.Context(), &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	object, ok := schemas.ResourceSchemas[instanceType].ValueType().(tftypes.Object)
	if !ok {
		w.t.Fatal("the schema is not an object")
	}
	empty := tftypes.Object{AttributeTypes: map[string]tftypes.Type{}}
	p := &wire{t: w.t, server: server, schema: object}
	config := p.encode(empty, tftypes.NewValue(empty, map[string]tftypes.Value{}))
	if _, err := server.ConfigureProvider(w.t.Context(), &tfprotov6.ConfigureProviderRequest{Config: config}); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (p *wire) encode(kind tftypes.Type, value tftypes.Value) *tfprotov6.DynamicValue {
	p.t.Helper()
	encoded, err := tfprotov6.NewDynamicValue(kind, value)
	if err != nil {
		p.t.Fatal(err)
	}
	return &encoded
}

// decode returns the strings of an instance, by attribute; nil for no instance.
func (p *wire) decode(value *tfprotov6.DynamicValue) map[string]string {
	p.t.Helper()
	decoded, err := value.Unmarshal(p.schema)
	if err != nil {
		p.t.Fatal(err)
	}
	if decoded.IsNull() {
		return nil
	}
	var attributes map[string]tftypes.Value
	if err := decoded.As(&attributes); err != nil {
		p.t.Fatal(err)
	}
	texts := map[string]string{}
	for name, attribute := range attributes {
		var text string
		if attribute.Type().Is(tftypes.String) && attribute.IsFullyKnown() && !attribute.IsNull() && attribute.As(&text) == nil {
			texts[name] = text
		}
	}
	return texts
}

// instance is a configuration of nothing but strings.
func (p *wire) instance(texts map[string]string) *tfprotov6.DynamicValue {
	p.t.Helper()
	values := map[string]tftypes.Value{}
	for name, kind := range p.schema.AttributeTypes {
		values[name] = tftypes.NewValue(kind, nil)
		if text, ok := texts[name]; ok {
			values[name] = tftypes.NewValue(kind, text)
		}
	}
	return p.encode(p.schema, tftypes.NewValue(p.schema, values))
}

// create plans config and applies the plan. Only the applying is under ctx.
func (p *wire) create(ctx context.Context, config *tfprotov6.DynamicValue) *tfprotov6.ApplyResourceChangeResponse {
	p.t.Helper()
	none := p.encode(p.schema, tftypes.NewValue(p.schema, nil))
	planning := context.WithoutCancel(ctx)
	plan, err := p.server.PlanResourceChange(planning, &tfprotov6.PlanResourceChangeRequest{
		TypeName: instanceType, PriorState: none, ProposedNewState: config, Config: config,
	})
	if err != nil || len(plan.Diagnostics) > 0 {
		p.t.Fatalf("plan: %v %s", err, said(plan.Diagnostics))
	}
	applied, err := p.server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: instanceType, PriorState: none, PlannedState: plan.PlannedState, PlannedPrivate: plan.PlannedPrivate, Config: config,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return applied
}

// plan plans the change from state to the configuration of strings.
func (p *wire) plan(state *tfprotov6.DynamicValue, private []byte, texts map[string]string) *tfprotov6.PlanResourceChangeResponse {
	p.t.Helper()
	proposed := p.decode(state)
	maps.Copy(proposed, texts)
	plan, err := p.server.PlanResourceChange(p.t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: instanceType, PriorState: state, PriorPrivate: private, ProposedNewState: p.instance(proposed), Config: p.instance(texts),
	})
	if err != nil || len(plan.Diagnostics) > 0 {
		p.t.Fatalf("plan: %v %s", err, said(plan.Diagnostics))
	}
	return plan
}

func (p *wire) read(state *tfprotov6.DynamicValue, private []byte) *tfprotov6.ReadResourceResponse {
	p.t.Helper()
	read, err := p.server.ReadResource(p.t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: instanceType, CurrentState: state, Private: private,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return read
}

func said(diagnostics []*tfprotov6.Diagnostic) string {
	var all []string
	for _, d := range diagnostics {
		all = append(all, d.Severity.String()+": "+d.Summary+": "+d.Detail)
	}
	return strings.Join(all, "\n")
}

func TestCancelledCreateLeavesNothing(t *testing.T) {
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
			applied := p.create(ctx, p.instance(map[string]string{"connection_uri": w.uri(), "lifetime": "1h"}))
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
	applied := p.create(t.Context(), p.instance(map[string]string{"connection_uri": w.uri(), "lifetime": "1h"}))
	if len(applied.Diagnostics) > 0 {
		t.Fatal(said(applied.Diagnostics))
	}
	if got, want := p.decode(applied.NewState)["handle"], w.only().Handle; got != want {
		t.Errorf("the state has %s, the place has %s", got, want)
	}
}

func TestReadSaysHowASandboxWent(t *testing.T) {
	for want, late := range map[string]bool{"expired at": true, "it ended by itself, or somebody destroyed it": false} {
		t.Run(want, func(t *testing.T) {
			w := newWorld(t)
			p := w.wire()
			applied := p.create(t.Context(), p.instance(map[string]string{"connection_uri": w.uri(), "lifetime": "1h"}))
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
	p.create(t.Context(), p.instance(map[string]string{"connection_uri": w.uri(), "lifetime": "1h"}))
	text := tftypes.String
	kind := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"location": text, "handle": text}}
	imported, err := p.server.ImportResourceState(t.Context(), &tfprotov6.ImportResourceStateRequest{
		TypeName: instanceType,
		Identity: &tfprotov6.ResourceIdentityData{IdentityData: p.encode(kind, tftypes.NewValue(kind, map[string]tftypes.Value{
			"location": tftypes.NewValue(text, w.uri()),
			"handle":   tftypes.NewValue(text, w.only().Handle),
		}))},
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
	if read.NewIdentity == nil {
		t.Error("the read gave no identity")
	}
}

func TestUpdateOfASandboxThatEndedAsksForANewPlan(t *testing.T) {
	w := newWorld(t)
	p := w.wire()
	config := p.instance(map[string]string{"connection_uri": w.uri(), "lifetime": "1h"})
	applied := p.create(t.Context(), config)
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
	applied := p.create(t.Context(), p.instance(map[string]string{"connection_uri": w.uri(), "lifetime": "1h"}))
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
	applied := p.create(t.Context(), p.instance(config))
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
