// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// builderVersion is the image builder's, which Python checks against those it
// knows.
const builderVersion = "2025.06"

// workspace is one account: nothing in it can be reached with the token of
// another.
type workspace struct {
	name         string
	environments []*environment // the default one first
	apps         []*app
	images       map[string]*image
	published    map[string]string // image ids by environment and tag
	secrets      map[string]*secret
	sandboxes    map[string]*sandbox
	created      []*sandbox           // the same, oldest first
	names        map[nameKey]*sandbox // the last holder of each name
	builds       int
}

type environment struct {
	id, name string
	created  time.Time
}

func newWorkspace(name string, environments []string, now time.Time) *workspace {
	w := &workspace{
		name:      name,
		images:    make(map[string]*image),
		published: make(map[string]string),
		secrets:   make(map[string]*secret),
		sandboxes: make(map[string]*sandbox),
		names:     make(map[nameKey]*sandbox),
	}
	for _, name := range environments {
		w.addEnvironment(name, now)
	}
	return w
}

func (w *workspace) addEnvironment(name string, now time.Time) *environment {
	e := &environment{id: "en-" + randomBase62(22), name: name, created: now}
	w.environments = append(w.environments, e)
	return e
}

// environment finds one by name; an empty name is the default one, so that an
// Airflow connection that says "main" and a client that says nothing meet.
func (w *workspace) environment(name string) (*environment, error) {
	for _, e := range w.environments {
		if name == "" || e.name == name {
			return e, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "Environment '%s' not found in workspace '%s'", name, w.name)
}

func (c *control) EnvironmentGetOrCreate(ctx context.Context, req *pb.EnvironmentGetOrCreateRequest) (*pb.EnvironmentGetOrCreateResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	found, err := w.environment(req.GetDeploymentName())
	switch req.GetObjectCreationType() {
	case pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_IF_MISSING:
		if err != nil {
			found, err = w.addEnvironment(req.GetDeploymentName(), c.Now()), nil
		}
	case pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_FAIL_IF_EXISTS:
		if err == nil {
			return nil, status.Errorf(codes.AlreadyExists, "Environment '%s' already exists", found.name)
		}
		found, err = w.addEnvironment(req.GetDeploymentName(), c.Now()), nil
	}
	if err != nil {
		return nil, err
	}
	return pb.EnvironmentGetOrCreateResponse_builder{
		EnvironmentId: found.id,
		Metadata: pb.EnvironmentMetadata_builder{
			Name:     found.name,
			Settings: pb.EnvironmentSettings_builder{ImageBuilderVersion: builderVersion}.Build(),
		}.Build(),
	}.Build(), nil
}

func (c *control) EnvironmentList(ctx context.Context, _ *emptypb.Empty) (*pb.EnvironmentListResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	var items []*pb.EnvironmentListItem
	for i, e := range w.environments {
		items = append(items, pb.EnvironmentListItem_builder{
			Name: e.name, EnvironmentId: e.id, CreatedAt: seconds(e.created), Default: i == 0,
		}.Build())
	}
	return pb.EnvironmentListResponse_builder{Items: items}.Build(), nil
}
