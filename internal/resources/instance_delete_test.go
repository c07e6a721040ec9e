// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// conflicted answers every destroy with a conflict.
type conflicted struct{ backend.Backend }

func (conflicted) Destroy(context.Context, sandbox.Ref) error { return backend.ErrConflict }

func TestConflictMeansGoneOnlyWhereTheIncarnationIsKnown(t *testing.T) {
	if err := destroy(t.Context(), conflicted{}, sandbox.Ref{Handle: "sb", Incarnation: "1"}); err != nil {
		t.Errorf("with an incarnation: %v", err)
	}
	if err := destroy(t.Context(), conflicted{}, sandbox.Ref{Handle: "sb"}); !errors.Is(err, backend.ErrConflict) {
		t.Errorf("without one: %v", err)
	}
}
