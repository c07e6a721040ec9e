// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// as is the same client with another token.
func (c *client) as(token Token) *client {
	c.t.Helper()
	c.t.Setenv("MODAL_TOKEN_ID", token.ID)
	c.t.Setenv("MODAL_TOKEN_SECRET", token.Secret)
	made, err := sdk.NewClientWithOptions(&sdk.ClientParams{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(made.Close)
	return &client{Client: made, t: c.t, ctx: c.ctx}
}

func TestEveryCallNeedsAToken(t *testing.T) {
	s := start(t, Options{})
	other := s.AddToken("emulator")
	s.RevokeToken(other.ID)
	c := s.client(t, V2)
	for name, token := range map[string]Token{
		"unknown": {ID: "ak-x", Secret: "as-x"}, "wrong secret": {ID: s.Token().ID, Secret: "as-x"}, "revoked": other,
	} {
		if _, err := c.as(token).Apps.FromName(c.ctx, "a", nil); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTokenOfAnotherWorkspaceFindsNothingAndTellsItsName(t *testing.T) {
	s := start(t, Options{Workspace: "acme"})
	c := s.client(t, V2)
	app, box := c.app(), c.box(&sdk.SandboxCreateParams{Name: "n"})

	foreign := c.as(s.AddToken("other"))
	for what, err := range map[string]error{
		"app":     second(foreign.Apps.FromName(c.ctx, app.Name, nil)),
		"sandbox": second(foreign.Sandboxes.FromName(c.ctx, app.Name, "n", nil)),
	} {
		if !errors.As(err, new(sdk.NotFoundError)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	found, err := foreign.Sandboxes.FromID(c.ctx, box.SandboxID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := found.Terminate(c.ctx, nil); status.Code(err) != codes.NotFound {
		t.Errorf("terminate: %v", err)
	}
	if !running(s, box) {
		t.Error("the sandbox was terminated")
	}
	if reply, err := c.raw().WorkspaceNameLookup(c.ctx, &emptypb.Empty{}); err != nil || reply.GetUsername() != "acme" {
		t.Errorf("workspace %v, %v", reply, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestCommandRouterNeedsItsOwnToken(t *testing.T) {
	r := start(t, Options{AccessLifetime: time.Nanosecond}).routerClient(t)
	if err := r.start("true"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("an expired token: %v", err)
	}
	r.ctx = metadata.NewOutgoingContext(t.Context(), nil)
	if err := r.start("true"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("no token: %v", err)
	}
}

func TestMethodThatIsNotEmulatedIsNamed(t *testing.T) {
	var log bytes.Buffer
	s := start(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	c := s.client(t, V2)
	c.app()
	calls := map[string]func() error{
		"ProxyList": func() error { return second(c.raw().ProxyList(c.ctx, &emptypb.Empty{})) },
		"NotYetInvented": func() error {
			return c.conn.Invoke(c.ctx, "/modal.client.ModalClient/NotYetInvented", &emptypb.Empty{}, &emptypb.Empty{})
		},
	}
	for name, call := range calls {
		if err := call(); status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if !strings.Contains(log.String(), "method="+name) {
			t.Errorf("%s is not in the log: %s", name, log.String())
		}
	}
}

func TestOnlyTheLoopbackIsListenedOn(t *testing.T) {
	for _, address := range []string{"0.0.0.0:0", ":0", "[::1]:0", "192.0.2.1:0", "example.org:80", "nonsense"} {
		if s, err := Start(Options{Listen: address}); err == nil {
			t.Errorf("%s is listened on", address)
			_ = s.Close()
		}
	}
}

func TestEmptyEnvironmentIsTheDefaultOneAndAnUnknownOneIsNotFound(t *testing.T) {
	s := start(t, Options{Environments: []string{"prod", "main"}})
	c := s.client(t, V2)
	c.app() // in main
	get := func(environment string) (*pb.AppGetOrCreateResponse, error) {
		return c.raw().AppGetOrCreate(c.ctx, pb.AppGetOrCreateRequest_builder{
			AppName: "airflow-sandbox", EnvironmentName: environment,
			ObjectCreationType: pb.ObjectCreationType_OBJECT_CREATION_TYPE_CREATE_IF_MISSING,
		}.Build())
	}
	empty, err := get("")
	if err != nil {
		t.Fatal(err)
	}
	prod, err := get("prod")
	if err != nil || prod.GetAppId() != empty.GetAppId() {
		t.Errorf("prod: %v, %v; want the app of the empty name, %v", prod, err, empty)
	}
	if main, err := get("main"); err != nil || main.GetAppId() == empty.GetAppId() {
		t.Errorf("main: %v, %v", main, err)
	}
	if _, err := get("nope"); status.Code(err) != codes.NotFound || !strings.Contains(err.Error(), "nope") {
		t.Errorf("unknown: %v", err)
	}
}
