// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestTheSameDefinitionIsBuiltOnce(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	app := c.app()
	secret := func(value string) *sdk.Secret {
		made, err := c.Secrets.FromMap(c.ctx, map[string]string{"TOKEN": value}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	define := func(command, value string) *sdk.Image {
		return c.Images.FromRegistry("python:3.12-slim", nil).DockerfileCommands([]string{command}, &sdk.ImageDockerfileCommandsParams{Secrets: []*sdk.Secret{secret(value)}})
	}
	ids := make(map[string]bool)
	for _, test := range []struct {
		command, value string
		builds         int
	}{
		{"RUN pip install pandas", "a", 2}, // the base and the layer
		{"RUN pip install pandas", "a", 2},
		{"RUN pip install polars", "a", 3},
		{"RUN pip install pandas", "b", 4},
	} {
		built, err := define(test.command, test.value).Build(c.ctx, app, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids[built.ImageID] = true
		if got := s.Builds(); got != test.builds {
			t.Errorf("%s with %s: %d builds, want %d", test.command, test.value, got, test.builds)
		}
	}
	if len(ids) != 3 {
		t.Errorf("%d images, want 3", len(ids))
	}
}

func TestFailedBuildTellsItsLogAndIsTriedAgain(t *testing.T) {
	s := start(t, Options{FailBuilds: []string{"pip install nothing"}, BuildTime: 10 * time.Millisecond})
	c := s.client(t, V2)
	app := c.app()
	for _, command := range []string{"RUN pip install nothing", "RUN false", "RUN exit 3"} {
		for range 2 {
			before := s.Builds()
			_, err := c.Images.FromRegistry("x", nil).DockerfileCommands([]string{"RUN true", command}, nil).Build(c.ctx, app, nil)
			if !errors.As(err, new(sdk.RemoteError)) || !strings.Contains(err.Error(), command) {
				t.Errorf("%s: %v", command, err)
			}
			if s.Builds() == before {
				t.Errorf("%s: the build was not tried again", command)
			}
		}
	}
	for _, made := range s.workspaces["emulator"].images {
		if made.problem == "" {
			continue
		}
		_, err := c.raw().SandboxCreateV2(c.ctx, pb.SandboxCreateV2Request_builder{
			AppId: app.AppID, Definition: pb.Sandbox_builder{ImageId: made.id, TimeoutSecs: 60}.Build(),
		}.Build())
		if status.Code(err) != codes.FailedPrecondition {
			t.Errorf("a sandbox of an image that is not built: %v", err)
		}
		log := c.buildLog(made.id)
		if !strings.Contains(log, "RUN true") || !strings.Contains(log, "error: command failed") {
			t.Errorf("log %q", log)
		}
	}
}

func (c *client) buildLog(id string) string {
	c.t.Helper()
	stream, err := c.raw().ImageJoinStreaming(c.ctx, pb.ImageJoinStreamingRequest_builder{ImageId: id, Timeout: 10}.Build())
	if err != nil {
		c.t.Fatal(err)
	}
	var log strings.Builder
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return log.String()
		}
		if err != nil {
			c.t.Fatal(err)
		}
		for _, line := range message.GetTaskLogs() {
			log.WriteString(line.GetData())
		}
	}
}

func TestPrivateRegistryNeedsUserAndPassword(t *testing.T) {
	s := start(t, Options{})
	s.AddSecret("good", map[string]string{"REGISTRY_USERNAME": "u", "REGISTRY_PASSWORD": "p"})
	s.AddSecret("bad", map[string]string{"REGISTRY_USERNAME": "u"})
	c := s.client(t, V2)
	app := c.app()
	for name, good := range map[string]bool{"good": true, "bad": false} {
		secret, err := c.Secrets.FromName(c.ctx, name, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Images.FromRegistry("private", &sdk.ImageFromRegistryParams{Secret: secret}).Build(c.ctx, app, nil)
		if (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPublishedNameMeansTheLastImagePublished(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	app := c.app()
	for _, tag := range []string{"a", "b"} {
		built, err := c.Images.FromRegistry(tag, nil).Build(c.ctx, app, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := built.Publish(c.ctx, "analysis", nil); err != nil {
			t.Fatal(err)
		}
		if found, err := c.Images.FromName(c.ctx, "analysis:latest", nil); err != nil || found.ImageID != built.ImageID {
			t.Errorf("%s: %v, %v", tag, found, err)
		}
	}
	if _, err := c.Images.FromName(c.ctx, "analysis:v2", nil); !errors.As(err, new(sdk.NotFoundError)) {
		t.Errorf("another version: %v", err)
	}
}
