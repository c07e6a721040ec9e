// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// poor is a backend with none of the abilities, without an identity, and with
// fewer tags.
type poor struct {
	backend.Backend

	tags backend.TagSupport
}

func (p poor) Capabilities() backend.Capabilities {
	caps := p.Backend.Capabilities()
	caps.Identity, caps.Tags = false, p.tags
	return caps
}

func (p poor) Check(ctx context.Context) (backend.Status, error) {
	status, err := p.Backend.Check(ctx)
	status.Identity = ""
	return status, err
}

func (p poor) view(s sandbox.Sandbox) sandbox.Sandbox {
	if p.tags == backend.NoTags {
		s.Tags, s.TagsKnown = nil, false
	}
	return s
}

func (p poor) Create(ctx context.Context, req backend.Request) (sandbox.Sandbox, error) {
	s, err := p.Backend.Create(ctx, req)
	return p.view(s), err
}

func (p poor) Get(ctx context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	s, err := p.Backend.Get(ctx, ref)
	return p.view(s), err
}

func (p poor) List(ctx context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		for s, err := range p.Backend.List(ctx) {
			if !yield(p.view(s), err) {
				return
			}
		}
	}
}

func (p poor) SetTags(context.Context, sandbox.Ref, sandbox.Tags) error {
	return backend.ErrUnsupported
}

// TestSuitePassesForAPoorBackend runs in child processes the sections that a
// lack of abilities changes.
func TestSuitePassesForAPoorBackend(t *testing.T) {
	for _, variant := range []flaw{noTags, tagsAtBirth} {
		t.Run(string(variant), func(t *testing.T) {
			t.Parallel()
			output, err := runReference(variant, "(check|lifecycle|tags|listing|given_up|end_of_life|leftovers|images|network)")
			if err != nil || !strings.Contains(string(output), "--- PASS: TestReferenceBackend/lifecycle") {
				t.Errorf("the suite ended with %v:\n%s", err, output)
			}
		})
	}
}
