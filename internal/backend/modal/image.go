// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// imagePrefix begins Modal's image ids.
const imagePrefix = "im-"

// RefuseImage lists what could not be built from here.
func (a *app) RefuseImage(spec backend.ImageSpec) []backend.Refusal {
	var refusals []backend.Refusal
	refuse := func(attribute string, err error) {
		if err != nil {
			refusals = append(refusals, backend.Refusal{Attribute: attribute, Reason: err.Error()})
		}
	}
	refuse("from", checkImage(spec.From))
	for _, command := range spec.Commands {
		refuse("dockerfile_commands", checkDockerfileCommand(command))
	}
	if spec.Registry != nil && strings.HasPrefix(spec.From, imagePrefix) {
		refuse("registry_username", errors.New("an image of Modal itself is not read from a registry"))
	}
	refuse("secrets_wo", checkEnv(spec.Secrets))
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
	if err != nil {
		return "", a.failed("build an image from "+spec.From, "", err)
	}
	return reference, nil
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

// RefuseImageName lists what Modal's client refuses of a name, and a prefix: the
// connection decides about the environment.
func (a *app) RefuseImageName(name string) []backend.Refusal {
	image, tag, tagged := strings.Cut(name, ":")
	if validImageName(image) && (!tagged || validImageName(tag)) {
		return nil
	}
	return []backend.Refusal{{Attribute: "publish", Reason: fmt.Sprintf("%q is not NAME or NAME:TAG, each 1 to 64 letters, digits, "+
		"dots, dashes and underscores, and unlike an id of Modal's", name)}}
}

func validImageName(name string) bool {
	return objectName.MatchString(name) && !appID.MatchString(name) && !strings.HasPrefix(name, imagePrefix)
}

// PublishImage names the image in the environment of the connection.
func (a *app) PublishImage(ctx context.Context, reference, name string) error {
	if err := backend.Refused(a.RefuseImageName(name)); err != nil {
		return a.failed("publish the image", reference, err)
	}
	if !strings.Contains(name, ":") {
		name += ":latest"
	}
	err := a.withImage(ctx, reference, func(s *session) error {
		_, err := s.rpc.ImagePublish(ctx, pb.ImagePublishRequest_builder{ImageId: reference, EnvironmentName: s.environment, Tag: name}.Build())
		return notSandbox(classed(err))
	})
	return a.failed("publish the image", reference, err)
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
