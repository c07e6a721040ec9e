// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"math"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// odd is a server whose list always is the same, whatever was asked for, and that
// knows nothing else.
type odd struct {
	pb.ModalClientClient
	items []*pb.SandboxInfo
}

func (o odd) SandboxListV2(_ context.Context, req *pb.SandboxListRequest, _ ...grpc.CallOption) (*pb.SandboxListResponse, error) {
	var older []*pb.SandboxInfo
	for _, info := range o.items {
		if before := req.GetBeforeTimestamp(); before == 0 || info.GetCreatedAt() < before {
			older = append(older, info)
		}
	}
	return pb.SandboxListResponse_builder{Sandboxes: older}.Build(), nil
}

const (
	hereApp  = "ap-0123456789012345678901"
	thereApp = "ap-abcdefghijklmnopqrstuv"
	newest   = 1_796_000_000.0
)

// facing is an app on an odd server.
func facing(items ...*pb.SandboxInfo) *app {
	a := newApp(backend.Connection{Scheme: "modal"}, nil, &backend.Caller{}, clock.System())
	a.inside = &session{app: a, rpc: odd{items: items}, found: &sdk.App{AppID: hereApp}, at: a.clock.Now()}
	return a
}

// listItem is an item of a list, older by its number.
func listItem(number int, change func(*pb.SandboxInfo_builder)) *pb.SandboxInfo {
	info := pb.SandboxInfo_builder{
		Id: "sb-V2ABCDEFGHIJKLMNOPQRSTUV-" + string(rune('a'+number)), AppId: hereApp, CreatedAt: newest - float64(number), TimeoutSecs: 3600,
		Tags: []*pb.SandboxTag{pb.SandboxTag_builder{TagName: sandbox.TagAttempt, TagValue: string(rune('a' + number))}.Build()},
	}
	change(&info)
	return info.Build()
}

func asItIs(*pb.SandboxInfo_builder) {}

func TestASandboxOfAnotherAppIsNeverListed(t *testing.T) {
	a := facing(
		listItem(0, asItIs),
		listItem(1, func(i *pb.SandboxInfo_builder) { i.AppId = thereApp }),
		listItem(2, func(i *pb.SandboxInfo_builder) { i.AppId = "" }), // not said
	)
	var handles []string
	for s, err := range a.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, s.Handle[len(s.Handle)-1:])
	}
	if len(handles) != 2 || handles[0] != "a" || handles[1] != "c" {
		t.Errorf("listed %q, want a and c", handles)
	}
}

// What is found under a mark may be destroyed.
func TestOnlyWhatCarriesTheMarkIsFoundWhateverTheListShows(t *testing.T) {
	a := facing(listItem(0, asItIs), listItem(1, asItIs), listItem(2, asItIs))
	found, err := a.Find(t.Context(), "b")
	if err != nil || len(found) != 1 || found[0].Tags[sandbox.TagAttempt] != "b" {
		t.Errorf("found %+v, %v; want the one with the mark", found, err)
	}
}

func TestATimeThatIsNoneIsUnknownAndNeverOld(t *testing.T) {
	for _, seconds := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), 1e300, math.MaxFloat64, farthest} {
		if got := moment(seconds); !got.IsZero() {
			t.Errorf("moment(%v) = %s, want none", seconds, got)
		}
		s, err := facing().inside.read(t.Context(), listItem(0, func(i *pb.SandboxInfo_builder) { i.CreatedAt = seconds }))
		if err != nil || !s.CreatedAt.IsZero() || !s.ServerEnds.IsZero() {
			t.Errorf("%v: made %s, ends %s, %v; want both unknown", seconds, s.CreatedAt, s.ServerEnds, err)
		}
	}
	if got := moment(newest); !got.Equal(time.Unix(int64(newest), 0)) {
		t.Errorf("moment(%v) = %s", newest, got)
	}
}

func TestAListThatCannotBeContinuedIsNotComplete(t *testing.T) {
	for name, last := range map[string]func(*pb.SandboxInfo_builder){
		"the last one has no time":  func(i *pb.SandboxInfo_builder) { i.CreatedAt = 0 },
		"its time is no number":     func(i *pb.SandboxInfo_builder) { i.CreatedAt = math.NaN() },
		"a sandbox without an id":   func(i *pb.SandboxInfo_builder) { i.Id = "" },
		"its time is before time":   func(i *pb.SandboxInfo_builder) { i.CreatedAt = math.Inf(-1) },
		"its time is past all time": func(i *pb.SandboxInfo_builder) { i.CreatedAt = math.Inf(1) },
	} {
		t.Run(name, func(t *testing.T) {
			var ended error
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			for _, err := range facing(listItem(0, asItIs), listItem(1, last)).List(ctx) {
				ended = err
			}
			wantClass(t, ended, backend.ErrUnavailable, `list sandboxes on "modal:": `)
		})
	}
}

// nameless is a server that does not say what it calls a thing.
type nameless struct {
	pb.UnimplementedModalClientServer
	app, sandbox string
}

func (nameless) AuthTokenGet(context.Context, *pb.AuthTokenGetRequest) (*pb.AuthTokenGetResponse, error) {
	return pb.AuthTokenGetResponse_builder{Token: "e30.e30.e30"}.Build(), nil
}

func (s nameless) AppGetOrCreate(context.Context, *pb.AppGetOrCreateRequest) (*pb.AppGetOrCreateResponse, error) {
	return pb.AppGetOrCreateResponse_builder{AppId: s.app}.Build(), nil
}

func (nameless) EnvironmentGetOrCreate(context.Context, *pb.EnvironmentGetOrCreateRequest) (*pb.EnvironmentGetOrCreateResponse, error) {
	return new(pb.EnvironmentGetOrCreateResponse), nil
}

func (nameless) ImageGetOrCreate(context.Context, *pb.ImageGetOrCreateRequest) (*pb.ImageGetOrCreateResponse, error) {
	done := pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_SUCCESS}.Build()
	return pb.ImageGetOrCreateResponse_builder{ImageId: "im-1", Result: done}.Build(), nil
}

func (s nameless) SandboxCreateV2(context.Context, *pb.SandboxCreateV2Request) (*pb.SandboxCreateV2Response, error) {
	return pb.SandboxCreateV2Response_builder{SandboxId: s.sandbox}.Build(), nil
}

// serve points the environment to a server.
func serve(t *testing.T, server pb.ModalClientServer) *app {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	pb.RegisterModalClientServer(g, server)
	var serving sync.WaitGroup
	serving.Go(func() { _ = g.Serve(listener) })
	t.Cleanup(func() { g.Stop(); serving.Wait() })
	for name, value := range map[string]string{
		"MODAL_SERVER_URL": "http://" + listener.Addr().String(), "MODAL_CONFIG_PATH": os.DevNull,
		"MODAL_TOKEN_ID": "ak-1", "MODAL_TOKEN_SECRET": "as-1", "MODAL_SANDBOX_V2": "1",
	} {
		t.Setenv(name, value)
	}
	return newApp(backend.Connection{Scheme: "modal"}, nil, &backend.Caller{MaxRetries: -1}, clock.System())
}

// A list without the app would be one of the whole environment.
func TestAnAppWithoutAnIDIsNotEntered(t *testing.T) {
	a := serve(t, nameless{})
	for _, err := range a.List(t.Context()) {
		wantClass(t, err, backend.ErrUnavailable, "does not say which app")
	}
	wantClass(t, a.Destroy(t.Context(), sandbox.Ref{Handle: "sb-0123456789012345678901"}), backend.ErrUnavailable)
}

func TestASandboxWithoutAnIDMayHaveBeenMade(t *testing.T) {
	for _, id := range []string{"", "ta-1", "sb-../x"} {
		a := serve(t, nameless{app: hereApp, sandbox: id})
		made, err := a.Create(t.Context(), backend.NewRequest(sandbox.Spec{Lifetime: time.Hour}, nil, clock.System().Now()))
		wantClass(t, err, backend.ErrUnknownOutcome, "no id of one")
		if made.Handle != "" {
			t.Errorf("made %q", made.Handle)
		}
	}
}
