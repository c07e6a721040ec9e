// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The JSON of "terraform providers schema -json", as far as a provider of this
// protocol can fill it.
type (
	document struct {
		FormatVersion string                     `json:"format_version"`
		Schemas       map[string]providerSchemas `json:"provider_schemas"`
	}
	providerSchemas struct {
		Provider    schema              `json:"provider"`
		Resources   map[string]schema   `json:"resource_schemas,omitempty"`
		DataSources map[string]schema   `json:"data_source_schemas,omitempty"`
		Functions   map[string]function `json:"functions,omitempty"`
		Identities  map[string]identity `json:"resource_identity_schemas,omitempty"`
	}
	schema struct {
		Version int64 `json:"version"`
		Block   block `json:"block"`
	}
	block struct {
		Attributes      map[string]attribute `json:"attributes,omitempty"`
		Blocks          map[string]nested    `json:"block_types,omitempty"`
		Description     string               `json:"description,omitempty"`
		DescriptionKind string               `json:"description_kind"`
		Deprecated      bool                 `json:"deprecated,omitempty"`
	}
	nested struct {
		NestingMode string `json:"nesting_mode"`
		Block       block  `json:"block"`
		MinItems    int64  `json:"min_items,omitempty"`
		MaxItems    int64  `json:"max_items,omitempty"`
	}
	attribute struct {
		Type            tftypes.Type `json:"type,omitempty"`
		NestedType      *nestedType  `json:"nested_type,omitempty"`
		Description     string       `json:"description,omitempty"`
		DescriptionKind string       `json:"description_kind"`
		Deprecated      bool         `json:"deprecated,omitempty"`
		Required        bool         `json:"required,omitempty"`
		Optional        bool         `json:"optional,omitempty"`
		Computed        bool         `json:"computed,omitempty"`
		Sensitive       bool         `json:"sensitive,omitempty"`
		WriteOnly       bool         `json:"write_only,omitempty"`
	}
	nestedType struct {
		Attributes  map[string]attribute `json:"attributes"`
		NestingMode string               `json:"nesting_mode"`
	}
	function struct {
		Summary     string       `json:"summary,omitempty"`
		Description string       `json:"description,omitempty"`
		Return      tftypes.Type `json:"return_type"`
		Parameters  []parameter  `json:"parameters,omitempty"`
		Variadic    *parameter   `json:"variadic_parameter,omitempty"`
	}
	parameter struct {
		Name        string       `json:"name"`
		Description string       `json:"description,omitempty"`
		Nullable    bool         `json:"is_nullable,omitempty"`
		Type        tftypes.Type `json:"type"`
	}
	identity struct {
		Version    int64                        `json:"version"`
		Attributes map[string]identityAttribute `json:"attributes"`
	}
	identityAttribute struct {
		Type              tftypes.Type `json:"type"`
		Description       string       `json:"description,omitempty"`
		RequiredForImport bool         `json:"required_for_import,omitempty"`
		OptionalForImport bool         `json:"optional_for_import,omitempty"`
	}
)

func read(ctx context.Context, server tfprotov6.ProviderServer) (providerSchemas, error) {
	all, err := server.GetProviderSchema(ctx, &tfprotov6.GetProviderSchemaRequest{})
	if err != nil {
		return providerSchemas{}, err
	}
	identities, err := server.GetResourceIdentitySchemas(ctx, &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		return providerSchemas{}, err
	}
	if err := problems(append(all.Diagnostics, identities.Diagnostics...)); err != nil {
		return providerSchemas{}, err
	}
	return providerSchemas{
		Provider:    fromSchema(all.Provider),
		Resources:   each(all.ResourceSchemas, fromSchema),
		DataSources: each(all.DataSourceSchemas, fromSchema),
		Functions:   each(all.Functions, fromFunction),
		Identities:  each(identities.IdentitySchemas, fromIdentity),
	}, nil
}

func problems(diagnostics []*tfprotov6.Diagnostic) error {
	var errs []error
	for _, d := range diagnostics {
		if d.Severity == tfprotov6.DiagnosticSeverityError {
			errs = append(errs, fmt.Errorf("%s: %s", d.Summary, d.Detail))
		}
	}
	return errors.Join(errs...)
}

func each[From, To any](from map[string]From, convert func(From) To) map[string]To {
	to := make(map[string]To, len(from))
	for name, value := range from {
		to[name] = convert(value)
	}
	return to
}

func fromSchema(s *tfprotov6.Schema) schema { return schema{s.Version, fromBlock(s.Block)} }

func fromBlock(b *tfprotov6.SchemaBlock) block {
	blocks := make(map[string]nested, len(b.BlockTypes))
	for _, n := range b.BlockTypes {
		blocks[n.TypeName] = nested{blockModes[n.Nesting], fromBlock(n.Block), n.MinItems, n.MaxItems}
	}
	return block{fromAttributes(b.Attributes), blocks, b.Description, kind(b.DescriptionKind), b.Deprecated}
}

func fromAttributes(list []*tfprotov6.SchemaAttribute) map[string]attribute {
	attributes := make(map[string]attribute, len(list))
	for _, a := range list {
		to := attribute{
			Type: a.Type, Description: a.Description, DescriptionKind: kind(a.DescriptionKind), Deprecated: a.Deprecated,
			Required: a.Required, Optional: a.Optional, Computed: a.Computed, Sensitive: a.Sensitive, WriteOnly: a.WriteOnly,
		}
		if a.NestedType != nil {
			to.NestedType = &nestedType{fromAttributes(a.NestedType.Attributes), objectModes[a.NestedType.Nesting]}
		}
		attributes[a.Name] = to
	}
	return attributes
}

func fromFunction(f *tfprotov6.Function) function {
	to := function{Summary: f.Summary, Description: f.Description, Return: f.Return.Type}
	for _, p := range f.Parameters {
		to.Parameters = append(to.Parameters, fromParameter(p))
	}
	if f.VariadicParameter != nil {
		last := fromParameter(f.VariadicParameter)
		to.Variadic = &last
	}
	return to
}

func fromParameter(p *tfprotov6.FunctionParameter) parameter {
	return parameter{p.Name, p.Description, p.AllowNullValue, p.Type}
}

func fromIdentity(s *tfprotov6.ResourceIdentitySchema) identity {
	attributes := make(map[string]identityAttribute, len(s.IdentityAttributes))
	for _, a := range s.IdentityAttributes {
		attributes[a.Name] = identityAttribute{a.Type, a.Description, a.RequiredForImport, a.OptionalForImport}
	}
	return identity{s.Version, attributes}
}

func kind(k tfprotov6.StringKind) string {
	if k == tfprotov6.StringKindMarkdown {
		return "markdown"
	}
	return "plain"
}

var (
	blockModes = map[tfprotov6.SchemaNestedBlockNestingMode]string{
		tfprotov6.SchemaNestedBlockNestingModeSingle: "single",
		tfprotov6.SchemaNestedBlockNestingModeGroup:  "group",
		tfprotov6.SchemaNestedBlockNestingModeList:   "list",
		tfprotov6.SchemaNestedBlockNestingModeSet:    "set",
		tfprotov6.SchemaNestedBlockNestingModeMap:    "map",
	}
	objectModes = map[tfprotov6.SchemaObjectNestingMode]string{
		tfprotov6.SchemaObjectNestingModeSingle: "single",
		tfprotov6.SchemaObjectNestingModeList:   "list",
		tfprotov6.SchemaObjectNestingModeSet:    "set",
		tfprotov6.SchemaObjectNestingModeMap:    "map",
	}
)
