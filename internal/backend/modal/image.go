// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

const (
	imagePrefix = "im-" // of Modal's image ids

	// joinWithin is how long the server holds one look at a build (recorded).
	joinWithin = 55 * time.Second
	buildGrace = 20 * time.Second
	buildTail  = 4 << 10 // bytes of the log that an error shows
)

// RefuseImage lists what could not be built from here.
func (a *app) RefuseImage(spec backend.ImageSpec) []backend.Refusal {
	var refusals []backend.Refusal
	if err := checkImage(spec.From); err != nil {
		refusals = append(refusals, backend.Refusal{Attribute: "from", Reason: err.Error()})
	}
	for _, command := range spec.Commands {
		if err := checkDockerfileCommand(command); err != nil {
			refusals = append(refusals, backend.Refusal{Attribute: "dockerfile_commands", Reason: err.Error()})
		}
	}
	return refusals
}

func checkDockerfileCommand(command string) error {
	words := strings.Fields(strings.ToUpper(command))
	switch {
	case len(words) == 0:
		return errors.New("a command is empty")
	case words[0] == "COPY" && !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, "--FROM=") }):
		return fmt.Errorf("%q copies from a local directory, and none is sent to Modal; fetch the file in a RUN, or COPY --from an image", command)
	}
	return nil
}

// BuildImage builds the image, unless Modal has built the same definition
// before. Its reference is Modal's id.
func (a *app) BuildImage(ctx context.Context, spec backend.ImageSpec, log io.Writer) (string, error) {
	reference, err := a.buildImage(ctx, spec, log)
	return reference, a.failed("build an image from "+spec.From, "", err)
}

func (a *app) buildImage(ctx context.Context, spec backend.ImageSpec, log io.Writer) (string, error) {
	if err := backend.Refused(a.RefuseImage(spec)); err != nil {
		return "", err
	}
	s, err := a.enter(ctx)
	if err != nil {
		return "", err
	}
	return s.build(ctx, spec, log)
}

// build returns the id of the image. A Modal id without commands is itself.
func (s *session) build(ctx context.Context, spec backend.ImageSpec, log io.Writer) (string, error) {
	definition := pb.Image_builder{DockerfileCommands: append([]string{"FROM " + spec.From}, spec.Commands...)}
	if strings.HasPrefix(spec.From, imagePrefix) {
		if len(spec.Commands) == 0 {
			return spec.From, nil
		}
		definition.DockerfileCommands[0] = "FROM base"
		definition.BaseImages = []*pb.BaseImage{pb.BaseImage_builder{DockerTag: "base", ImageId: spec.From}.Build()}
	}
	version, err := s.builderVersion(ctx)
	if err != nil {
		return "", err
	}
	reply, err := s.rpc.ImageGetOrCreate(ctx, pb.ImageGetOrCreateRequest_builder{
		AppId: s.found.AppID, Image: definition.Build(), BuilderVersion: version,
	}.Build())
	if err != nil {
		return "", notSandbox(classed(err))
	}
	if finished(reply.GetResult()) {
		return reply.GetImageId(), built(reply.GetResult(), nil)
	}
	return reply.GetImageId(), s.join(ctx, reply.GetImageId(), log)
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
		return "", notSandbox(classed(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.builder = reply.GetMetadata().GetSettings().GetImageBuilderVersion()
	return s.builder, nil
}

// join follows a build to its end.
func (s *session) join(ctx context.Context, image string, log io.Writer) error {
	last := &tail{limit: buildTail}
	if log == nil {
		log = io.Discard
	}
	log = io.MultiWriter(last, log)
	for entry := ""; ; {
		var result *pb.GenericResult
		call := backend.Call{Verb: "ImageJoinStreaming", Idempotent: true, Deadline: joinWithin + buildGrace}
		err := s.caller.Do(ctx, call, func(ctx context.Context) error {
			var err error
			result, entry, err = s.follow(ctx, image, entry, log)
			return settled(ctx, call, err)
		})
		switch {
		case err != nil:
			return notSandbox(err)
		case finished(result):
			return built(result, last)
		}
	}
}

// follow reads one stream of a build's log. It returns where the next one goes
// on, and the result when there is one.
func (s *session) follow(ctx context.Context, image, entry string, log io.Writer) (*pb.GenericResult, string, error) {
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
func built(result *pb.GenericResult, log *tail) error {
	if result.GetStatus() == pb.GenericResult_GENERIC_STATUS_SUCCESS {
		return nil
	}
	word := strings.ToLower(strings.TrimPrefix(result.GetStatus().String(), "GENERIC_STATUS_"))
	text := strings.TrimSpace(result.GetException())
	if log != nil {
		kept, _ := log.kept()
		if lines := strings.TrimSpace(string(kept)); lines != "" {
			text += "\nThe build's log ends:\n" + lines
		}
	}
	return fmt.Errorf("%w image: the build ended in %s: %s", backend.ErrInvalid, word, text)
}

// HasImage asks by id.
func (a *app) HasImage(ctx context.Context, reference string) (bool, error) {
	err := a.withImage(ctx, reference, func(s *session) error {
		_, err := s.rpc.ImageFromId(ctx, pb.ImageFromIdRequest_builder{ImageId: reference}.Build())
		return err
	})
	if errors.Is(err, backend.ErrNotFound) {
		return false, nil
	}
	return err == nil, a.failed("look for the image", reference, err)
}

// DeleteImage deletes the image, but not the layers below it, which others may
// share.
func (a *app) DeleteImage(ctx context.Context, reference string) error {
	err := a.withImage(ctx, reference, func(s *session) error {
		for info, err := range s.list(ctx, nil) {
			switch {
			case err != nil:
				return err
			case info.GetImageId() == reference && !s.memory.of(info.GetId()).destroyed:
				return fmt.Errorf("%w: sandbox %s uses it", backend.ErrConflict, info.GetId())
			}
		}
		return s.sdk.Images.Delete(ctx, reference, nil)
	})
	if errors.Is(err, backend.ErrNotFound) {
		return nil
	}
	return a.failed("delete the image", reference, err)
}

func (a *app) withImage(ctx context.Context, reference string, use func(*session) error) error {
	if !strings.HasPrefix(reference, imagePrefix) {
		return fmt.Errorf("%w: %q is not the id of a Modal image, which begins with %s", backend.ErrInvalid, reference, imagePrefix)
	}
	s, err := a.enter(ctx)
	if err != nil {
		return err
	}
	return classed(use(s))
}

// notSandbox keeps ErrNotFound for sandboxes.
func notSandbox(err error) error {
	if errors.Is(err, backend.ErrNotFound) {
		return fmt.Errorf("%w: %v", backend.ErrInvalid, err)
	}
	return err
}
