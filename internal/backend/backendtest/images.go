// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

func testImages(t *testing.T, p *place) {
	builder, ok := p.Backend.(backend.ImageBuilder)
	switch {
	case !ok:
		t.Skip("not an ImageBuilder")
	case p.Image.From == "":
		t.Skip("Factory.Image is not set")
	}
	if refusals := builder.RefuseImage(p.Image); len(refusals) > 0 {
		t.Fatalf("RefuseImage = %+v, want none", refusals)
	}
	reference, err := builder.BuildImage(t.Context(), p.Image, io.Discard)
	if err != nil {
		t.Fatalf("BuildImage: %v", err)
	}

	t.Run("the same image twice is one", func(t *testing.T) {
		again, err := builder.BuildImage(t.Context(), p.Image, io.Discard)
		if err != nil || again != reference {
			t.Errorf("BuildImage = %q, %v; want %q", again, err, reference)
		}
	})
	t.Run("a sandbox runs from it", func(t *testing.T) {
		req := p.request(p.spec(), nil)
		req.Spec.Image = reference
		ref := p.createFrom(t, req).Ref
		p.sh(t, ref, "true")
		wantError(t, "DeleteImage while it is used", builder.DeleteImage(t.Context(), reference), backend.ErrConflict)
		p.sh(t, ref, "true")
	})
	t.Run("an image is there until it is deleted", func(t *testing.T) {
		p.wantImage(t, builder, reference, true)
		for range 2 {
			if err := builder.DeleteImage(t.Context(), reference); err != nil {
				t.Errorf("DeleteImage: %v", err)
			}
		}
		p.wantImage(t, builder, reference, false)
	})
	t.Run("an image that was never built is not there", func(t *testing.T) {
		p.wantImage(t, builder, reference+"0", false)
	})
	t.Run("an image from nothing is an error", func(t *testing.T) {
		nothing := backend.ImageSpec{From: "taskowned.invalid/no/such:image"}
		got, err := builder.BuildImage(t.Context(), nothing, io.Discard)
		if err == nil {
			t.Errorf("BuildImage = %q, want an error", got)
		}
		if len(builder.RefuseImage(nothing)) > 0 {
			wantError(t, "BuildImage of what is refused", err, backend.ErrUnenforceable)
		}
	})
	t.Run("build refuses exactly what refuse lists", func(t *testing.T) {
		commands := p.Image
		commands.Commands = append(slices.Clone(commands.Commands), "RUN true")
		refusals := builder.RefuseImage(commands)
		_, err := builder.BuildImage(t.Context(), commands, io.Discard)
		if refused := errors.Is(err, backend.ErrUnenforceable); refused != (len(refusals) > 0) {
			t.Errorf("RefuseImage = %+v, but BuildImage: %v", refusals, err)
		}
		for _, r := range refusals {
			if r.Attribute != "dockerfile_commands" || r.Reason == "" {
				t.Errorf("RefuseImage names %q because of %q", r.Attribute, r.Reason)
			}
		}
	})
}

func (p *place) wantImage(t *testing.T, builder backend.ImageBuilder, reference string, want bool) {
	t.Helper()
	if got, err := builder.HasImage(t.Context(), reference); err != nil || got != want {
		t.Errorf("HasImage(%q) = %v, %v; want %v", reference, got, err, want)
	}
}
