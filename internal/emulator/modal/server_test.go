// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
)

func start(t *testing.T, opts Options) *Server {
	t.Helper()
	s, err := Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(s.dir); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", s.dir, err)
		}
	})
	return s
}

// client is Modal's Go client, its sandboxes of one generation.
type client struct {
	*sdk.Client
	t    *testing.T
	ctx  context.Context
	conn *grpc.ClientConn // the client's own, once it has made a call
}

func (s *Server) client(t *testing.T, generation Generations) *client {
	t.Helper()
	c := &client{t: t}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	c.ctx = ctx
	for _, variable := range s.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	t.Setenv("MODAL_ENVIRONMENT", "main")
	t.Setenv("MODAL_SANDBOX_V2", map[Generations]string{V1: "0", V2: "1"}[generation])
	made, err := sdk.NewClientWithOptions(&sdk.ClientParams{
		Logger: slog.New(slog.DiscardHandler),
		GRPCUnaryInterceptors: []grpc.UnaryClientInterceptor{
			func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
				if strings.HasPrefix(method, "/modal.client.ModalClient/") {
					c.conn = conn
				}
				return invoke(ctx, method, req, reply, conn, opts...)
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	c.Client = made
	return c
}

// raw is the client's connection as the protocol has it.
func (c *client) raw() pb.ModalClientClient { return pb.NewModalClientClient(c.conn) }

func (c *client) app() *sdk.App {
	c.t.Helper()
	app, err := c.Apps.FromName(c.ctx, "airflow-sandbox", &sdk.AppFromNameParams{CreateIfMissing: true})
	if err != nil {
		c.t.Fatal(err)
	}
	return app
}

// box makes a sandbox.
func (c *client) box(params *sdk.SandboxCreateParams) *sdk.Sandbox {
	c.t.Helper()
	box, err := c.create(params)
	if err != nil {
		c.t.Fatal(err)
	}
	return box
}

func (c *client) create(params *sdk.SandboxCreateParams) (*sdk.Sandbox, error) {
	c.t.Helper()
	return c.Sandboxes.Create(c.ctx, c.app(), c.Images.FromRegistry("python:3.12-slim", nil), params)
}

// sh runs a shell script and returns its output and exit code.
func (c *client) sh(box *sdk.Sandbox, script string) (string, int) {
	c.t.Helper()
	done, err := c.exec(box, []string{"sh", "-c", script}, &sdk.SandboxExecParams{Timeout: 20 * time.Second})
	if err != nil {
		c.t.Fatal(err)
	}
	return done.out, done.code
}
