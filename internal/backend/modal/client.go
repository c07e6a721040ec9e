// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// client is Modal's own client, whose every call of the control plane goes
// through our Caller.
type client struct {
	*sdk.Client
	caller *backend.Caller
	server *serverClock
	conn   atomic.Pointer[grpc.ClientConn] // nil before the first call
}

// maxThrottleWait bounds how long the client waits, within one call, for a
// server that asks it to come back later.
const maxThrottleWait = 2 * time.Minute

// errConfiguration is what the client reads from its file and the environment.
var errConfiguration = fmt.Errorf("%w Modal configuration", backend.ErrInvalid)

// environ is held while a client is made. Where the server is and which profile
// counts, the client reads from the environment alone (config.go), once, at its
// construction.
var environ sync.Mutex

// dial makes a client. It connects to nothing yet.
func dial(credentials backend.Credentials, environment string, caller *backend.Caller, server *serverClock) (*client, error) {
	if err := checkServer(os.Getenv(serverURL)); err != nil {
		return nil, err
	}
	environ.Lock()
	defer environ.Unlock()
	defer overrule(credentials)()

	c := &client{caller: caller, server: server}
	wait := maxThrottleWait
	made, err := sdk.NewClientWithOptions(&sdk.ClientParams{
		TokenID:     credentials[fieldTokenID],
		TokenSecret: credentials[fieldTokenSecret],
		// Always given, so that MODAL_ENVIRONMENT never decides.
		Environment:           environment,
		Logger:                slog.New(lateLogger{}),
		MaxThrottleWait:       &wait,
		GRPCUnaryInterceptors: []grpc.UnaryClientInterceptor{c.intercept},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errConfiguration, unquoted(err))
	}
	c.Client = made
	return c, nil
}

// checkServer refuses what the client would dial as it stands behind the scheme,
// and then quote: a path as part of the port, a password as part of the host.
func checkServer(address string) error {
	if address == "" {
		return nil
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Scheme+"://"+parsed.Host != address {
		return fmt.Errorf("%w: the address of the server reads http://HOST:PORT or https://HOST:PORT, and no more", errConfiguration)
	}
	return nil
}

// overrule sets the environment by which the client is made, and returns what
// sets it back. A set of credentials stands alone: no profile and no variable
// adds to it, but for MODAL_SERVER_URL. A profile stands alone as well.
func overrule(credentials backend.Credentials) (restore func()) {
	var undo []func()
	set := func(name, value string) {
		was, had := os.LookupEnv(name)
		undo = append(undo, func() {
			if had {
				_ = os.Setenv(name, was)
			} else {
				_ = os.Unsetenv(name)
			}
		})
		_ = os.Setenv(name, value) // fails only for names that are none
	}
	switch profile := credentials[fieldProfile]; {
	case profile != "":
		set("MODAL_PROFILE", profile)
		for _, name := range []string{"MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "MODAL_OAUTH_REFRESH_TOKEN",
			"MODAL_OAUTH_CLIENT_ID", "MODAL_OAUTH_CLIENT_SECRET", "MODAL_OAUTH_JWT_KEY"} {
			set(name, "")
		}
	case credentials != nil:
		set("MODAL_CONFIG_PATH", os.DevNull)
	}
	return func() {
		for _, set := range undo {
			set()
		}
	}
}

// stubs are for what the client itself does not offer. They share its
// connection, and with it its headers, its token and its waits.
func (c *client) stubs() pb.ModalClientClient { return pb.NewModalClientClient(c.conn.Load()) }

// intercept is the one way out to the control plane. It stands within the
// client's own retries, and settles a call for good: an error that the client
// would try again comes back without its gRPC status, so that only the Caller
// does, by what it knows of the call. A server's wish for a later call is left
// to the client, which knows how to wait for it.
func (c *client) intercept(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	c.conn.Store(conn)
	call := callOf(method)
	death, ends := ctx.Value(deathKey{}).(*death)
	if _, terminates := req.(*pb.SandboxTerminateRequest); !terminates {
		ends = false // such as the token for it
	}
	err := c.caller.Do(ctx, call, func(ctx context.Context) error {
		if ends {
			death.attempts++
		}
		begun := c.server.ours.Now()
		err := settled(ctx, call, invoke(ctx, method, req, reply, conn, options...))
		if err == nil {
			c.server.note(reply, begun)
		}
		return err
	})
	if birth, ok := ctx.Value(birthKey{}).(*birth); ok && err == nil {
		birth.note(reply)
	}
	if ends && err == nil {
		death.note(reply)
	}
	return err
}

// birth notes the sandbox that a create call has made. The client hides it where
// the calls that follow fail: it waits for a V1 sandbox to be scheduled.
type birth struct{ handle string }

type birthKey struct{}

func (b *birth) note(reply any) {
	switch reply := reply.(type) {
	case *pb.SandboxCreateResponse:
		b.handle = reply.GetSandboxId()
	case *pb.SandboxCreateV2Response:
		b.handle = reply.GetSandboxId()
	}
}

// insecureRouter begins what the client says at every connection to the router
// of an emulator on the loopback, which is no news.
const insecureRouter = "Using insecure TLS"

// lateLogger hands on to whatever logger is the default at that moment.
type lateLogger struct{}

func (lateLogger) Enabled(ctx context.Context, level slog.Level) bool {
	return slog.Default().Enabled(ctx, level)
}

func (lateLogger) Handle(ctx context.Context, record slog.Record) error {
	if strings.HasPrefix(record.Message, insecureRouter) {
		return nil
	}
	return slog.Default().Handler().Handle(ctx, record)
}

func (l lateLogger) WithAttrs(attrs []slog.Attr) slog.Handler {
	return slog.Default().Handler().WithAttrs(attrs)
}

func (l lateLogger) WithGroup(name string) slog.Handler {
	return slog.Default().Handler().WithGroup(name)
}

// unquoted keeps the first line of what the client says about its configuration:
// a parser may go on to quote the file, which holds secrets.
func unquoted(err error) error {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return fmt.Errorf("%s", line)
}
