// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

func TestTheSameDefinitionIsBuiltOnce(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	spec := backend.ImageSpec{
		From: "registry.example.org/base:1", Commands: []string{"RUN pip install pandas"},
		Registry: &backend.RegistryLogin{Username: "robot", Password: "hunter2"}, Secrets: map[string]string{"INDEX_TOKEN": "hunter3"},
	}
	first, err := a.BuildImage(t.Context(), spec, nil)
	if err != nil || !strings.HasPrefix(first, imagePrefix) {
		t.Fatalf("BuildImage = %q, %v", first, err)
	}
	again, err := at(t, "modal:").BuildImage(t.Context(), spec, nil) // another process
	if err != nil || again != first || server.Builds() != 1 {
		t.Errorf("BuildImage = %q, %v, in %d builds; want %q in one", again, err, server.Builds(), first)
	}
	itself, err := a.BuildImage(t.Context(), backend.ImageSpec{From: first}, nil)
	if err != nil || itself != first || server.Builds() != 1 {
		t.Errorf("an image without commands: %q, %v; want itself", itself, err)
	}
	onTop, err := a.BuildImage(t.Context(), backend.ImageSpec{From: first, Commands: []string{"RUN true"}}, nil)
	if err != nil || onTop == first || server.Builds() != 2 {
		t.Errorf("one on top of it: %q, %v", onTop, err)
	}
}

func TestTheLogOfAFailedBuildIsInTheError(t *testing.T) {
	for name, options := range map[string]emulator.Options{"at once": {}, "after a while": {BuildTime: 100 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			_, a := opened(t, options, "modal:")
			var log bytes.Buffer
			spec := backend.ImageSpec{From: "python:3.12-slim", Commands: []string{"RUN echo fine", "RUN false"}}
			got, err := a.BuildImage(t.Context(), spec, &log)
			wantClass(t, err, backend.ErrInvalid, "failure", "RUN echo fine", "exit code 1: RUN false")
			if got != "" || !strings.Contains(log.String(), "exit code 1: RUN false") {
				t.Errorf("reference %q, log %q", got, log.String())
			}
		})
	}
}

func TestABuildWhoseLogBreaksOffIsFollowedOn(t *testing.T) {
	server, a := opened(t, emulator.Options{BuildTime: 200 * time.Millisecond}, "modal:")
	server.Fail("ImageJoinStreaming", emulator.Fault{Code: codes.Unavailable, Times: 2})
	if _, err := a.BuildImage(t.Context(), backend.ImageSpec{From: "python:3.12-slim"}, nil); err != nil {
		t.Error(err)
	}
}

func TestThrottlingIsWaitedForWhileABuildIsFollowed(t *testing.T) {
	server, a := opened(t, emulator.Options{BuildTime: 50 * time.Millisecond}, "modal:")
	server.Fail("ImageJoinStreaming", emulator.Fault{Code: codes.ResourceExhausted, RetryAfter: 10 * time.Millisecond, Times: 2})
	if _, err := a.BuildImage(t.Context(), backend.ImageSpec{From: "python:3.12-slim"}, nil); err != nil {
		t.Error(err)
	}
}

func TestWhatModalCannotBuildIsRefused(t *testing.T) {
	a := &app{}
	for name, test := range map[string]struct {
		spec      backend.ImageSpec
		attribute string
	}{
		"nothing":            {backend.ImageSpec{}, "from"},
		"two lines":          {backend.ImageSpec{From: "a\nb"}, "from"},
		"a local file":       {backend.ImageSpec{From: "a", Commands: []string{"COPY x /x"}}, "dockerfile_commands"},
		"an empty command":   {backend.ImageSpec{From: "a", Commands: []string{" "}}, "dockerfile_commands"},
		"a login to Modal":   {backend.ImageSpec{From: "im-1", Registry: &backend.RegistryLogin{}}, "registry_username"},
		"an odd secret name": {backend.ImageSpec{From: "a", Secrets: map[string]string{"A B": "c"}}, "secrets_wo"},
	} {
		refusals := a.RefuseImage(test.spec)
		if len(refusals) != 1 || refusals[0].Attribute != test.attribute {
			t.Errorf("%s: RefuseImage = %+v, want %s", name, refusals, test.attribute)
		}
	}
	fine := backend.ImageSpec{From: "a", Commands: []string{"copy --from=b /x /x", "RUN true"}}
	if refusals := a.RefuseImage(fine); len(refusals) > 0 {
		t.Errorf("RefuseImage = %+v, want none", refusals)
	}
	for name, valid := range map[string]bool{
		"analysis": true, "analysis:1.0": true, strings.Repeat("n", 64): true, strings.Repeat("n", 65): false,
		"": false, "a:": false, "a/b": false, "a:b:c": false, "im-1": false, "a b": false, "ap-abcdefghijklmnopqrstuv": false,
	} {
		if got := len(a.RefuseImageName(name)) == 0; got != valid {
			t.Errorf("the name %q is valid: %t, want %t", name, got, valid)
		}
	}
}

func TestAnImageIsPublishedUnderItsName(t *testing.T) {
	_, a := opened(t, emulator.Options{}, "modal:")
	reference, err := a.BuildImage(t.Context(), backend.ImageSpec{From: "python:3.12-slim"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.PublishImage(t.Context(), reference, "analysis"); err != nil {
		t.Fatal(err)
	}
	s, err := a.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.sdk.Images.FromName(t.Context(), "analysis:latest", nil)
	if err != nil || found.ImageID != reference {
		t.Errorf("under its name: %+v, %v; want %s", found, err, reference)
	}
	wantClass(t, a.PublishImage(t.Context(), "im-absent", "analysis"), backend.ErrInvalid, "im-absent")
	wantClass(t, a.PublishImage(t.Context(), reference, "a/b"), backend.ErrUnenforceable, "NAME:TAG")
}
