// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"maps"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestATagThatModalRefusesIsToldInItsWordsAndChangesNothing(t *testing.T) {
	_, a := opened(t, emulator.Options{MaxTagBytes: 100}, "modal:")
	const says = "Tag 'note' is longer than 100 bytes"
	tooLong := strings.Repeat("x", 101)
	for generation, gpu := range map[string]string{"V1": "T4", "V2": ""} {
		t.Run(generation, func(t *testing.T) {
			req := request()
			req.Spec.GPU, req.Tags["note"] = gpu, tooLong
			_, err := backend.Create(t.Context(), a, req)
			wantClass(t, err, backend.ErrInvalid, says)
			if left, err := a.Find(t.Context(), req.Mark); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}

			req = request()
			req.Spec.GPU = gpu
			s, err := backend.Create(t.Context(), a, req)
			if err != nil {
				t.Fatal(err)
			}
			err = backend.EditTags(t.Context(), a, s.Ref, func(tags sandbox.Tags) { tags["note"] = tooLong })
			wantClass(t, err, backend.ErrInvalid, says)
			if now, err := a.Get(t.Context(), s.Ref); err != nil || !maps.Equal(now.Tags, s.Tags) {
				t.Errorf("the tags were %v, and are %v, %v", s.Tags, now.Tags, err)
			}
		})
	}
}
