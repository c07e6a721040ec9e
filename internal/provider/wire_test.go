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
	kinds  map[string]tftypes.Object // of all resources, by type
	schema tftypes.Object            // of an instance
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
	p := &wire{t: w.t, server: server, kinds: map[string]tftypes.Object{}}
	for name, schema := range schemas.ResourceSchemas {
		p.kinds[name] = objectType(w.t, schema)
	}
	p.schema = p.kinds[instanceType]
	kind := objectType(w.t, schemas.Provider)
	config := p.encode(kind, value(kind, map[string]any{}))
	if _, err := server.ConfigureProvider(w.t.Context(), &tfprotov6.ConfigureProviderRequest{Config: config}); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func objectType(t *testing.T, schema *tfprotov6.Schema) tftypes.Object {
	t.Helper()
	object, ok := schema.ValueType().(tftypes.Object)
	if !ok {
		t.Fatal("the schema is not an object")
	}
	return object
}

// value writes JSON's values as a value of kind. What an object leaves out is null.
func value(kind tftypes.Type, v any) tftypes.Value {
	switch kind := kind.(type) {
	case tftypes.Object:
		if members, ok := v.(map[string]any); ok {
			values := map[string]tftypes.Value{}
			for name, kind := range kind.AttributeTypes {
				values[name] = value(kind, members[name])
			}
			return tftypes.NewValue(kind, values)
		}
	case tftypes.Map:
		if members, ok := v.(map[string]any); ok {
			values := map[string]tftypes.Value{}
			for key, member := range members {
				values[key] = value(kind.ElementType, member)
			}
			return tftypes.NewValue(kind, values)
		}
	case tftypes.List:
		if members, ok := v.([]any); ok {
			values := []tftypes.Value{}
			for _, member := range members {
				values = append(values, value(kind.ElementType, member))
			}
			return tftypes.NewValue(kind, values)
		}
	}
	return tftypes.NewValue(kind, v)
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
	return p.texts(p.schema, value)
}

// texts returns the strings of an object, by attribute; nil for none.
func (p *wire) texts(kind tftypes.Object, value *tfprotov6.DynamicValue) map[string]string {
	p.t.Helper()
	decoded, err := value.Unmarshal(kind)
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
	attributes := map[string]any{}
	for name, text := range texts {
		attributes[name] = text
	}
	return p.encode(p.schema, value(p.schema, attributes))
}

// create plans config and applies the plan. Only the applying is under ctx.
func (p *wire) create(ctx context.Context, texts map[string]string) *tfprotov6.ApplyResourceChangeResponse {
	p.t.Helper()
	attributes := map[string]any{}
	for name, text := range texts {
		attributes[name] = text
	}
	made, refusal := p.first(context.WithoutCancel(ctx), instanceType, attributes)
	if refusal != "" {
		p.t.Fatal(refusal)
	}
	return p.apply(ctx, made)
}

// firstPlan is the plan of a resource that is not there yet.
type firstPlan struct {
	resource string
	config   *tfprotov6.DynamicValue
	plan     *tfprotov6.PlanResourceChangeResponse
}

// first validates and plans a resource, as Terraform does. A refusal is what the
// errors say.
func (p *wire) first(ctx context.Context, resource string, attributes map[string]any) (made firstPlan, refusal string) {
	p.t.Helper()
	kind := p.kinds[resource]
	made = firstPlan{resource: resource, config: p.encode(kind, value(kind, attributes))}
	valid, err := p.server.ValidateResourceConfig(ctx, &tfprotov6.ValidateResourceConfigRequest{TypeName: resource, Config: made.config})
	if err != nil {
		p.t.Fatal(err)
	}
	if len(valid.Diagnostics) > 0 {
		return made, said(valid.Diagnostics)
	}
	made.plan, err = p.server.PlanResourceChange(ctx, &tfprotov6.PlanResourceChangeRequest{
		TypeName: resource, PriorState: p.encode(kind, tftypes.NewValue(kind, nil)), ProposedNewState: made.config, Config: made.config,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return made, said(made.plan.Diagnostics)
}

// apply makes what was planned.
func (p *wire) apply(ctx context.Context, made firstPlan) *tfprotov6.ApplyResourceChangeResponse {
	p.t.Helper()
	kind := p.kinds[made.resource]
	applied, err := p.server.ApplyResourceChange(ctx, &tfprotov6.ApplyResourceChangeRequest{
		TypeName: made.resource, PriorState: p.encode(kind, tftypes.NewValue(kind, nil)), Config: made.config,
		PlannedState: made.plan.PlannedState, PlannedPrivate: made.plan.PlannedPrivate,
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
