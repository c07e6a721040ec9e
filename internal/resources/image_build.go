// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// build builds what m and the secrets of config ask for and sets the reference.
// want is the identity of the place where it was built before; empty: never. The
// result is the place's identity.
func (r *imageResource) build(ctx context.Context, m *imageModel, config imageModel, want string, diags *diag.Diagnostics) (identity string) {
	conn, builder := r.open(*m, diags)
	if builder == nil {
		return ""
	}
	attempt := fmt.Sprintf("Image cannot be built from %s on %q", m.From.ValueString(), conn.Location())
	var err error
	if want == "" {
		err = conn.Prepare(ctx)
	}
	if err == nil {
		identity, err = conn.Witness(ctx, want)
	}
	if err != nil {
		addError(diags, attempt, err)
		return ""
	}
	spec := m.withSecretsOf(config).spec()
	reference, err := builder.BuildImage(ctx, spec, io.Discard)
	if err != nil {
		addError(diags, attempt, veiled{err, spec})
		return ""
	}
	m.Reference = types.StringValue(reference)
	return identity
}

// publish gives the image of m, which was built at the place of identity want,
// its name.
func (r *imageResource) publish(ctx context.Context, m imageModel, want string, diags *diag.Diagnostics) {
	if m.Publish.IsNull() || diags.HasError() {
		return
	}
	conn, builder := r.open(m, diags)
	if builder == nil {
		return
	}
	attempt := fmt.Sprintf("Image %s on %q cannot be published as %s", m.Reference.ValueString(), conn.Location(), m.Publish.ValueString())
	err := backend.Refused(refusedName(conn, m.Publish))
	if err == nil {
		_, err = conn.Witness(ctx, want)
	}
	if publisher, ok := conn.Backend.(backend.ImagePublisher); ok && err == nil {
		err = publisher.PublishImage(ctx, m.Reference.ValueString(), m.Publish.ValueString())
	}
	if err != nil {
		addError(diags, attempt, err)
	}
}

// veiled is the error of a build, whose log may repeat what the build was told in
// confidence.
type veiled struct {
	error
	spec backend.ImageSpec
}

func (e veiled) Error() string {
	text := e.error.Error()
	hide := func(secret string) {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "(secret)")
		}
	}
	if e.spec.Registry != nil {
		hide(e.spec.Registry.Password)
	}
	for _, key := range slices.Sorted(maps.Keys(e.spec.Secrets)) {
		hide(e.spec.Secrets[key])
	}
	return text
}

func (e veiled) Unwrap() error { return e.error }

// refusedName says why an image on conn cannot be published under name.
func refusedName(conn *Connection, name types.String) []backend.Refusal {
	if name.IsNull() {
		return nil
	}
	publisher, ok := conn.Backend.(backend.ImagePublisher)
	if !ok {
		return []backend.Refusal{{Attribute: "publish", Reason: "images there have no names; refer to them by their reference"}}
	}
	return publisher.RefuseImageName(name.ValueString())
}
