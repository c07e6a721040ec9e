// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

func TestErrorOfABuildTellsNoSecret(t *testing.T) {
	err := veiled{fmt.Errorf("%w image: log: password=hunter2 TOKEN=abc done", backend.ErrInvalid), backend.ImageSpec{
		Registry: &backend.RegistryLogin{Username: "robot", Password: "hunter2"},
		Secrets:  map[string]string{"TOKEN": "abc", "EMPTY": ""},
	}}
	if want := "invalid image: log: password=(secret) TOKEN=(secret) done"; err.Error() != want {
		t.Errorf("said %q, want %q", err.Error(), want)
	}
	if !errors.Is(err, backend.ErrInvalid) {
		t.Error("the class is lost")
	}
}

// named is a place that counts the names it gives to images.
type named struct {
	backend.ImageBuilder
	checked

	names int
}

func (*named) RefuseImageName(string) []backend.Refusal { return nil }

func (n *named) PublishImage(context.Context, string, string) error {
	n.names++
	return nil
}

func TestImageIsPublishedOnlyWhereItWasBuilt(t *testing.T) {
	for want, names := range map[string]int{"here": 1, "there": 0} {
		b := &named{checked: checked{identity: "here"}}
		conn := opened(t, "local:///a", b)
		r := &imageResource{configured{&Connections{opened: map[string]*Connection{conn.String(): conn}}}}
		m := imageModel{ConnectionURI: types.StringValue("local:///a"), Publish: types.StringValue("analysis"), Reference: types.StringValue("im-1")}
		var diags diag.Diagnostics
		r.publish(t.Context(), m, want, &diags)
		if b.names != names || diags.HasError() != (names == 0) {
			t.Errorf("built at %q: published %d times, %v", want, b.names, diags)
		}
	}
}
