// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"errors"
	"maps"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestTerraformTakesOverWhatAirflowMadeUnderItsHolder(t *testing.T) {
	author := map[string]string{"team": oddValue}
	handle := ask[string](t, "create", arguments{"spec": arguments{"owner": owner}, "settings": arguments{"tags": author}})
	attach(t, handle, owner)
	before := tags(t, handle)

	all := maps.Clone(instances)
	all["adopted"] = instance{Owner: owner, Tags: author}
	if err := stack.declare(all); err != nil {
		t.Fatal(err)
	}
	if err := stack.Import(t.Context(), address("adopted"), "modal:#"+handle); err != nil {
		t.Fatal(err)
	}
	if err := stack.apply(all, only("adopted")); err != nil {
		t.Fatal(err)
	}
	wantTags(t, "taken over,", handle, with(before, sandbox.TagManagedBy, sandbox.ManagedByTerraform))
	wantQuiet(t, "taken over,", "adopted")
	if made(t, "adopted").Handle != handle || airflow.Holder(tags(t, handle)) != owner {
		t.Errorf("made %+v, with the tags %v", made(t, "adopted"), tags(t, handle))
	}
	release(t, handle)
	if err := stack.apply(instances, only("adopted")); err != nil { // which name it no more
		t.Fatal(err)
	}
	if _, err := modal(t).Get(t.Context(), sandbox.Ref{Handle: handle}); !errors.Is(err, backend.ErrNotFound) {
		t.Errorf("destroyed, it is still there: %v", err)
	}
}
