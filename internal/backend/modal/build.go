// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

const (
	// joinWithin is how long the server holds one look at a build (recorded).
	joinWithin = 55 * time.Second
	joinGrace  = 20 * time.Second
	joinPause  = 2 * time.Second // between two looks
	joinQuiet  = time.Hour       // how long a build may say nothing before it is given up
	buildTail  = 4 << 10         // bytes of the log that an error shows
)

// build returns the id of the image. A Modal id with nothing to add is itself.
// The client's own build throws the log away, so the calls are made here.
func (s *session) build(ctx context.Context, spec backend.ImageSpec, log io.Writer) (string, error) {
	if strings.HasPrefix(spec.From, imagePrefix) && len(spec.Commands) == 0 {
		return spec.From, nil
	}
	definition, err := s.definition(ctx, spec)
	if err != nil {
		return "", notSandbox(err)
	}
	version, err := s.builderVersion(ctx)
	if err != nil {
		return "", notSandbox(err)
	}
	reply, err := s.rpc.ImageGetOrCreate(ctx, pb.ImageGetOrCreateRequest_builder{
		AppId: s.found.AppID, Image: definition, BuilderVersion: version,
	}.Build())
	if err != nil {
		return "", notSandbox(classed(err))
	}
	return reply.GetImageId(), s.join(ctx, reply.GetImageId(), reply.GetResult(), log)
}

// definition says in one layer what the image is made of, so that Modal finds
// the same one again.
func (s *session) definition(ctx context.Context, spec backend.ImageSpec) (*pb.Image, error) {
	layer := pb.Image_builder{DockerfileCommands: append([]string{"FROM " + spec.From}, spec.Commands...)}
	if strings.HasPrefix(spec.From, imagePrefix) {
		layer.DockerfileCommands[0] = "FROM base"
		layer.BaseImages = []*pb.BaseImage{pb.BaseImage_builder{DockerTag: "base", ImageId: spec.From}.Build()}
	}
	if spec.Registry != nil {
		// The names are those that Modal reads (_image.py).
		id, err := s.secret(ctx, map[string]string{"REGISTRY_USERNAME": spec.Registry.Username, "REGISTRY_PASSWORD": spec.Registry.Password})
		if err != nil {
			return nil, err
		}
		layer.ImageRegistryConfig = pb.ImageRegistryConfig_builder{
			RegistryAuthType: pb.RegistryAuthType_REGISTRY_AUTH_TYPE_STATIC_CREDS, SecretId: id,
		}.Build()
	}
	if len(spec.Secrets) > 0 {
		id, err := s.secret(ctx, spec.Secrets)
		if err != nil {
			return nil, err
		}
		layer.SecretIds = []string{id}
	}
	return layer.Build(), nil
}

// secret makes a secret without a name, which vanishes by itself.
func (s *session) secret(ctx context.Context, values map[string]string) (string, error) {
	reply, err := s.rpc.SecretGetOrCreate(ctx, pb.SecretGetOrCreateRequest_builder{
		ObjectCreationType: pb.ObjectCreationType_OBJECT_CREATION_TYPE_EPHEMERAL,
		EnvironmentName:    s.environment,
		EnvDict:            values,
	}.Build())
	return reply.GetSecretId(), classed(err)
}

// builderVersion is the one that the environment has chosen.
func (s *session) builderVersion(ctx context.Context) (string, error) {
	s.mu.Lock()
	version := s.builder
	s.mu.Unlock()
	if version != "" {
		return version, nil
	}
	reply, err := s.rpc.EnvironmentGetOrCreate(ctx, pb.EnvironmentGetOrCreateRequest_builder{DeploymentName: s.environment}.Build())
	if err != nil {
		return "", classed(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builder = reply.GetMetadata().GetSettings().GetImageBuilderVersion()
	return s.builder, nil
}

// join follows a build to its end. A build that has failed already is looked at
// once, for its log.
func (s *session) join(ctx context.Context, image string, result *pb.GenericResult, log io.Writer) error {
	last := &backend.Tail{Limit: buildTail}
	if log == nil {
		log = io.Discard
	}
	log = io.MultiWriter(last, log)
	if finished(result) {
		if result.GetStatus() != pb.GenericResult_GENERIC_STATUS_SUCCESS {
			_, _, _ = s.look(ctx, image, "", log) // the failure is known without it
		}
		return built(result, last)
	}
	heard := s.clock.Now()
	for entry := ""; ; {
		result, next, err := s.look(ctx, image, entry, log)
		if next != entry {
			entry, heard = next, s.clock.Now()
		}
		switch {
		case err != nil:
			return notSandbox(err)
		case finished(result):
			return built(result, last)
		case s.clock.Now().Sub(heard) >= joinQuiet:
			return fmt.Errorf("%w: the build of image %s has said nothing for %s and has not ended; apply again to follow it further", backend.ErrUnavailable, image, joinQuiet)
		}
		if err := backend.Pause(ctx, joinPause); err != nil {
			return fmt.Errorf("follow the build of image %s: %w", image, err)
		}
	}
}

// look follows a build for as long as the server holds one stream, which it ends
// without a result while the build runs on.
func (s *session) look(ctx context.Context, image, entry string, log io.Writer) (*pb.GenericResult, string, error) {
	var result *pb.GenericResult
	call := backend.Call{Verb: "ImageJoinStreaming", Idempotent: true, Deadline: joinWithin + joinGrace}
	err := s.caller.Do(ctx, call, func(ctx context.Context) error {
		var err error
		result, entry, err = s.follow(ctx, image, entry, log)
		return classed(settled(ctx, call, err)) // nothing below it waits, as the client does for other calls
	})
	return result, entry, classed(err)
}

// follow reads one stream of a build's log. It returns where the next one goes
// on, and the result when there is one.
func (s *session) follow(ctx context.Context, image, entry string, log io.Writer) (*pb.GenericResult, string, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the stream when the result is there
	defer cancel()
	stream, err := s.rpc.ImageJoinStreaming(ctx, pb.ImageJoinStreamingRequest_builder{
		ImageId: image, Timeout: float32(joinWithin.Seconds()), LastEntryId: entry,
	}.Build())
	if err != nil {
		return nil, entry, err
	}
	for {
		item, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, entry, nil
		}
		if err != nil {
			return nil, entry, err
		}
		entry = cmp.Or(item.GetEntryId(), entry)
		for _, line := range item.GetTaskLogs() {
			if _, err := io.WriteString(log, line.GetData()); err != nil {
				return nil, entry, err
			}
		}
		if finished(item.GetResult()) {
			return item.GetResult(), entry, nil
		}
	}
}

// built is the error of a build that did not succeed, with the end of its log.
func built(result *pb.GenericResult, log *backend.Tail) error {
	if result.GetStatus() == pb.GenericResult_GENERIC_STATUS_SUCCESS {
		return nil
	}
	word := strings.ToLower(strings.TrimPrefix(result.GetStatus().String(), "GENERIC_STATUS_"))
	text := strings.TrimSpace(result.GetException())
	if log != nil {
		kept, _ := log.Kept()
		if lines := strings.TrimSpace(string(kept)); lines != "" {
			text += "\nThe build's log ends:\n" + lines
		}
	}
	return fmt.Errorf("%w image: the build ended in %s: %s", backend.ErrInvalid, word, text)
}
