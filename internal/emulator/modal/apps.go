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

type app struct {
	id, name         string
	environment      *environment
	created, stopped time.Time
}

// app finds an app that is not stopped by name.
func (w *workspace) app(e *environment, name string) (*app, error) {
	for _, a := range w.apps {
		if a.environment == e && a.name == name && a.stopped.IsZero() {
			return a, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "App '%s' not found in environment '%s'", name, e.name)
}

func (w *workspace) appByID(id string) (*app, error) {
	for _, a := range w.apps {
		if a.id == id {
			return a, nil
		}
	}
	return nil, status.Errorf(codes.NotFound, "App with id '%s' not found", id)
}

func (w *workspace) addApp(e *environment, name string, now time.Time) *app {
	a := &app{id: "ap-" + randomBase62(22), name: name, environment: e, created: now}
	w.apps = append(w.apps, a)
	return a
}

func (a *app) metadata() *pb.AppHandleMetadata {
	return pb.AppHandleMetadata_builder{
		AppId: a.id, Description: a.name, EnvironmentName: a.environment.name,
		Lifecycle: pb.AppLifecycle_builder{AppState: a.state(), CreatedAt: seconds(a.created), StoppedAt: seconds(a.stopped)}.Build(),
	}.Build()
}

func (a *app) state() pb.AppState {
	if a.stopped.IsZero() {
		return pb.AppState_APP_STATE_DEPLOYED
	}
	return pb.AppState_APP_STATE_STOPPED
}

func (c *control) AppGetOrCreate(ctx context.Context, req *pb.AppGetOrCreateRequest) (*pb.AppGetOrCreateResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	e, err := w.environment(req.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	a, err := w.app(e, req.GetAppName())
	if err != nil && req.GetObjectCreationType() == pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_IF_MISSING {
		a, err = w.addApp(e, req.GetAppName(), c.Now()), nil
	}
	if err != nil {
		return nil, err
	}
	return pb.AppGetOrCreateResponse_builder{AppId: a.id, HandleMetadata: a.metadata()}.Build(), nil
}

func (c *control) AppGetInfo(ctx context.Context, req *pb.AppGetInfoRequest) (*pb.AppGetInfoResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	a, err := w.appByID(req.GetAppId())
	if err != nil {
		return nil, err
	}
	return pb.AppGetInfoResponse_builder{Info: a.metadata()}.Build(), nil
}

func (c *control) AppList(ctx context.Context, req *pb.AppListRequest) (*pb.AppListResponse, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	e, err := w.environment(req.GetEnvironmentName())
	if err != nil {
		return nil, err
	}
	var items []*pb.AppListResponse_AppListItem
	for _, a := range w.apps {
		if a.environment == e {
			items = append(items, pb.AppListResponse_AppListItem_builder{
				AppId: a.id, Name: a.name, Description: a.name, State: a.state(),
				CreatedAt: seconds(a.created), StoppedAt: seconds(a.stopped), Metadata: a.metadata(),
			}.Build())
		}
	}
	return pb.AppListResponse_builder{Apps: items}.Build(), nil
}

// AppStop ends every sandbox of the app.
func (c *control) AppStop(ctx context.Context, req *pb.AppStopRequest) (*emptypb.Empty, error) {
	w, unlock := c.lock(ctx)
	defer unlock()
	a, err := w.appByID(req.GetAppId())
	if err != nil {
		return nil, err
	}
	if a.stopped.IsZero() {
		a.stopped = c.Now()
	}
	for _, box := range w.created {
		if box.app == a {
			c.end(box, terminated)
		}
	}
	return &emptypb.Empty{}, nil
}
