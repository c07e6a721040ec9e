// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"maps"
	"slices"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type secret struct {
	id, name    string // the name is empty when it is anonymous
	environment *environment
	values      map[string]string
}

func (w *workspace) secret(id string) (*secret, error) {
	if found := w.secrets[id]; found != nil {
		return found, nil
	}
	return nil, status.Errorf(codes.NotFound, "Secret with id '%s' not found", id)
}

func (w *workspace) secretByName(e *environment, name string) *secret {
	for _, found := range w.secrets {
		if found.environment == e && found.name == name && name != "" {
			return found
		}
	}
	return nil
}

// SecretGetOrCreate looks a named secret up, or keeps the values that it is
// given: of the first generation's sandboxes, and of image builds, also those
// that the client made up from a map.
func (c *control) SecretGetOrCreate(ctx context.Context, req *pb.SecretGetOrCreateRequest) (*pb.SecretGetOrCreateResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	e, err := w.environment(req.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	found := w.secretByName(e, req.GetDeploymentName())
	if req.GetObjectCreationType() == pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_FAIL_IF_EXISTS && found != nil {
		return nil, status.Errorf(codes.AlreadyExists, "Secret '%s' already exists", found.name)
	}
	if req.GetObjectCreationType() != pb.ObjectCreationType_OBJECT_CREATION_TYPE_UNSPECIFIED && found == nil {
		found = w.addSecret(e, req.GetDeploymentName())
		found.values = req.GetEnvDict()
	}
	if found == nil {
		return nil, status.Errorf(codes.NotFound, "Secret '%s' not found in environment '%s'", req.GetDeploymentName(), e.name)
	}
	for _, key := range req.GetRequiredKeys() {
		if _, ok := found.values[key]; !ok {
			return nil, status.Errorf(codes.NotFound, "Secret '%s' has no key '%s'", found.name, key)
		}
	}
	return pb.SecretGetOrCreateResponse_builder{
		SecretId: found.id,
		Metadata: pb.SecretMetadata_builder{
			Name: found.name, EnvironmentName: e.name, Keys: slices.Sorted(maps.Keys(found.values)),
		}.Build(),
	}.Build(), nil
}

func (w *workspace) addSecret(e *environment, name string) *secret {
	made := &secret{id: "st-" + randomBase62(22), name: name, environment: e}
	w.secrets[made.id] = made
	return made
}

// AddSecret keeps a named secret in the default environment of the server's own
// workspace, as somebody would have done in the dashboard.
func (s *Server) AddSecret(name string, values map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workspaces[s.opts.Workspace]
	w.addSecret(w.environments[0], name).values = maps.Clone(values)
}

// variables merges what a request carries in secrets, in its order: a later
// value wins.
func (w *workspace) variables(ids []string, sources []*pb.SecretSource, more map[string]string) (map[string]string, error) {
	env := make(map[string]string)
	for _, source := range sources {
		if source.HasSecretId() {
			ids = append(slices.Clip(ids), source.GetSecretId())
		}
	}
	for _, id := range ids {
		found, err := w.secret(id)
		if err != nil {
			return nil, err
		}
		maps.Copy(env, found.values)
	}
	for _, source := range sources {
		maps.Copy(env, source.GetEnv().GetContents())
	}
	maps.Copy(env, more)
	return env, nil
}
