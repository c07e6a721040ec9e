// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package modal is an emulator of Modal for this machine: it speaks Modal's
// wire protocol to Modal's own clients, runs the commands they send for real,
// and can be told to fail. It lets a team use Terraform, Dags and the janitor
// together without an account, and lets our tests meet what production does.
//
// One plaintext listener on the loopback serves the control plane
// (modal.client.ModalClient) and the command router
// (modal.task_command_router.TaskCommandRouter), both generations of sandboxes
// included. What Modal's servers really do is known only from what others
// measured; where nobody knows, Options has a switch, and the zero value is the
// quickest and most orderly answer.
//
// What it does not do: an image is only a name, its commands are not run, and
// every sandbox sees the programs of this host. A sandbox keeps files in its
// working directory only; /tmp is each command's own. A network policy that
// names addresses or hosts cuts the network, since the engine cannot open it in
// part, and a policy that changes holds for the commands started from then on.
// Sandboxes, images and secrets vanish when the server ends.
package modal

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
)

// maxMessage is what Modal's clients accept and send at most, in bytes.
const maxMessage = 100 << 20

// Server is one running emulator. It is safe for concurrent use.
type Server struct {
	opts     Options
	base     clock.Clock
	offset   atomic.Int64 // nanoseconds by which the clock was moved
	log      *slog.Logger
	address  string
	dir      string // of this server's own; removed by Close
	grpc     *grpc.Server
	key      []byte // signs the tokens
	engine   func() (*engine.Engine, error)
	running  sync.WaitGroup // commands and removals
	stop     context.CancelFunc
	stopped  context.Context
	served   chan struct{}
	faults   faults
	calls    calls
	replayed replayed

	mu         sync.Mutex
	tokens     map[string]credential // by token id
	workspaces map[string]*workspace // by name
	tasks      map[string]*sandbox   // by task id, of all workspaces
	changed    chan struct{}         // closed and replaced when a sandbox ends or the clock moves
	nextUID    int
}

// Start serves until Close. Only loopback addresses are listened on: nothing
// here is protected by more than a token in plain text.
func Start(opts Options) (*Server, error) {
	listener, err := listen(cmp.Or(opts.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	s := &Server{
		opts:       opts.complete(),
		base:       clock.System(),
		address:    listener.Addr().String(),
		key:        []byte(rand.Text()),
		engine:     sync.OnceValues(engine.New),
		served:     make(chan struct{}),
		tokens:     make(map[string]credential),
		workspaces: make(map[string]*workspace),
		tasks:      make(map[string]*sandbox),
		changed:    make(chan struct{}),
		nextUID:    firstUID,
	}
	if opts.Clock != nil {
		s.base = opts.Clock
	}
	s.offset.Store(int64(opts.ClockAhead))
	s.log = s.opts.Log
	s.stopped, s.stop = context.WithCancel(context.Background())
	if s.dir, err = makeDirectory(); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	s.addToken(s.opts.Workspace, s.opts.Token)
	s.serve(listener)
	return s, nil
}

func listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w", address, err)
	}
	// Modal's clients know these names of the loopback; they cannot use ::1.
	if host != "127.0.0.1" && host != "localhost" {
		return nil, fmt.Errorf("listen on %q: the emulator has no protection and serves 127.0.0.1 only", address)
	}
	listener, err := net.Listen("tcp4", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: is another emulator running? Port 0 takes a free one", err)
	}
	return listener, err
}

// makeDirectory makes the directory of the workspaces. Those who use a
// workspace must be able to pass it.
func makeDirectory() (string, error) {
	dir, err := os.MkdirTemp("", "emulator-modal-")
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o711)
}

func (s *Server) serve(listener net.Listener) {
	s.grpc = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.WaitForHandlers(true), // so that nothing starts after Stop
		// The clients ping every 30 s even without a stream.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
		grpc.ChainUnaryInterceptor(s.recordUnary, s.delayUnary, s.admitUnary, s.disturbUnary, s.replayUnary),
		grpc.ChainStreamInterceptor(s.recordStream, s.admitStream, s.disturbStream),
		grpc.UnknownServiceHandler(unknownMethod),
	)
	pb.RegisterModalClientServer(s.grpc, &control{Server: s})
	pb.RegisterTaskCommandRouterServer(s.grpc, &router{Server: s})
	go func() {
		defer close(s.served)
		if err := s.grpc.Serve(listener); err != nil {
			s.log.Error("the emulator stopped serving", "error", err)
		}
	}()
}

// Preflight reports why this machine cannot run commands, if it cannot. Without
// them everything else is served all the same.
func (s *Server) Preflight(ctx context.Context) error {
	e, err := s.engine()
	if err != nil {
		return err
	}
	return e.Preflight(ctx)
}

// URL is what MODAL_SERVER_URL has to be.
func (s *Server) URL() string { return "http://" + s.address }

// Token is the credential that the server was started with.
func (s *Server) Token() Token { return s.opts.Token }

// Environ returns what a process needs in its environment to meet this server,
// as NAME=VALUE. No file of the user's is read, so that no profile of a real
// account mixes in.
func (s *Server) Environ() []string {
	return []string{
		"MODAL_SERVER_URL=" + s.URL(),
		"MODAL_TOKEN_ID=" + s.opts.Token.ID,
		"MODAL_TOKEN_SECRET=" + s.opts.Token.Secret,
		"MODAL_CONFIG_PATH=" + filepath.Join(s.dir, "modal.toml"), // is not there
		"MODAL_PROFILE=",
		"MODAL_ENVIRONMENT=",
		// Python sends even the loopback through a proxy.
		"NO_PROXY=127.0.0.1,localhost",
		"no_proxy=127.0.0.1,localhost",
	}
}

// Close ends every command, removes every file and returns when that is done.
func (s *Server) Close() error {
	s.stop() // no further call is admitted
	s.mu.Lock()
	for _, box := range s.tasks {
		s.end(box, terminated)
	}
	s.mu.Unlock()
	s.grpc.Stop()
	<-s.served
	s.running.Wait()
	return removeAll(s.dir)
}

// Now is the server's time.
func (s *Server) Now() time.Time { return s.base.Now().Add(time.Duration(s.offset.Load())) }

// Advance moves the server's time by d, which brings sandboxes to their end.
func (s *Server) Advance(d time.Duration) {
	s.offset.Add(int64(d))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, box := range s.tasks {
		s.settle(box)
	}
	s.notify()
}

// notify wakes everybody who waits for a change. It is called with mu held.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}
