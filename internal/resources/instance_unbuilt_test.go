// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// rehearsing is a backend that can try beforehand what is to be made.
type rehearsing struct {
	backend.Backend
	backend.DryRunner
}

func TestReplacementForAnImageWhoseBuildNobodyTriedIsWarnedOf(t *testing.T) {
	image := map[string]bool{"image": true}
	for name, tc := range map[string]struct {
		backend   backend.Backend
		differing []string
		unknown   map[string]bool
		warned    bool
	}{
		"unknown image":                {fixed{}, []string{"image"}, image, true},
		"unknown image, build tried":   {rehearsing{}, []string{"image"}, image, false},
		"known image":                  {fixed{}, []string{"image"}, nil, false},
		"unknown image, just imported": {fixed{}, []string{"workdir"}, image, false},
		"nothing differs":              {fixed{}, nil, image, false},
	} {
		t.Run(name, func(t *testing.T) {
			var diags diag.Diagnostics
			warnUnbuilt(opened(t, "modal:", tc.backend), tc.differing, tc.unknown, &diags)
			if diags.HasError() || (len(diags) == 1) != tc.warned {
				t.Fatalf("warned of: %v", diags)
			}
			if tc.warned && !strings.Contains(diags[0].Detail(), "create_before_destroy = true") {
				t.Errorf("no way out: %s", diags[0].Detail())
			}
		})
	}
	var diags diag.Diagnostics
	if warnUnbuilt(nil, []string{"image"}, image, &diags); len(diags) > 0 {
		t.Errorf("warned of an unknown connection: %v", diags)
	}
}
