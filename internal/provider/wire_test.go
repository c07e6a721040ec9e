// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
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
	p := &wire{t: w.t, server: server, schema: object}
	kind, ok := schemas.Provider.ValueType().(tftypes.Object)
	if !ok {
		w.t.Fatal("the provider's schema is not an object")
	}
	none := map[string]tftypes.Value{}
	for name, attribute := range kind.AttributeTypes {
		none[name] = tftypes.NewValue(attribute, nil)
	}
	config := p.encode(kind, tftypes.NewValue(kind, none))
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
