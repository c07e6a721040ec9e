// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// authTokenLifetime is how long the token of AuthTokenGet is good.
const authTokenLifetime = 20 * time.Minute

// errStopping is the answer of a server that is being closed.
var errStopping = status.Error(codes.Unavailable, "the emulator is stopping")

// Token is a credential of one workspace.
type Token struct{ ID, Secret string }

type credential struct {
	secret    string
	workspace *workspace
}

// AddToken makes a token for the workspace of that name, and the workspace when
// there is none. What belongs to one workspace is not found by another.
func (s *Server) AddToken(workspaceName string) Token {
	token := Token{ID: "ak-" + randomBase62(22), Secret: "as-" + randomBase62(22)}
	s.addToken(workspaceName, token)
	return token
}

func (s *Server) addToken(workspaceName string, token Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workspaces[workspaceName]
	if w == nil {
		w = newWorkspace(workspaceName, s.opts.Environments, s.Now())
		s.workspaces[workspaceName] = w
	}
	s.tokens[token.ID] = credential{secret: token.Secret, workspace: w}
}

// RevokeToken makes every later call with the token UNAUTHENTICATED.
func (s *Server) RevokeToken(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, id)
}

type workspaceKey struct{}

// workspaceOf returns whose call this is; every call of the control plane has
// been admitted before.
func workspaceOf(ctx context.Context) *workspace {
	w, _ := ctx.Value(workspaceKey{}).(*workspace)
	return w
}

// lock is how a handler of the control plane begins: whose call it is, and until
// unlock nothing changes but by this call.
func (s *Server) lock(ctx context.Context) (w *workspace, unlock func()) {
	s.mu.Lock()
	return workspaceOf(ctx), s.mu.Unlock
}

// admit checks the credential of a call. Every call of the control plane
// carries the token itself, since Python never calls AuthTokenGet for sandboxes
// of the first generation; those of the second carry what AuthTokenGet gave too.
func (s *Server) admit(ctx context.Context, fullMethod string) (context.Context, error) {
	if s.stopped.Err() != nil {
		return nil, errStopping
	}
	headers, _ := metadata.FromIncomingContext(ctx)
	if strings.HasPrefix(fullMethod, routerPrefix) {
		return ctx, s.checkToken(bearer(headers), "router")
	}
	s.mu.Lock()
	known, ok := s.tokens[header(headers, "x-modal-token-id")]
	s.mu.Unlock()
	if !ok || subtle.ConstantTimeCompare([]byte(known.secret), []byte(header(headers, "x-modal-token-secret"))) == 0 {
		return nil, status.Error(codes.Unauthenticated, "Token ID is malformed, unknown or does not match its secret")
	}
	if needsAuthToken(methodName(fullMethod)) {
		if err := s.checkToken(header(headers, "x-modal-auth-token"), known.workspace.name); err != nil {
			return nil, err
		}
	}
	return context.WithValue(ctx, workspaceKey{}, known.workspace), nil
}

// needsAuthToken: the control plane's calls for sandboxes of the second
// generation.
func needsAuthToken(method string) bool {
	return strings.HasPrefix(method, "Sandbox") && strings.HasSuffix(method, "V2")
}

func header(headers metadata.MD, name string) string {
	values := headers.Get(name) // AuthTokenGet carries every credential twice
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

func bearer(headers metadata.MD) string {
	token, _ := strings.CutPrefix(header(headers, "authorization"), "Bearer ")
	return token
}

// issueToken signs a token for audience. Clients want three parts and an exp.
func (s *Server) issueToken(audience string, lifetime time.Duration) (string, error) {
	claims := jwt.RegisteredClaims{
		ID:        rand.Text(),
		Audience:  jwt.ClaimStrings{audience},
		ExpiresAt: jwt.NewNumericDate(clock.System().Now().Add(lifetime)),
	}
	if !s.opts.NoIssuedAt {
		claims.IssuedAt = jwt.NewNumericDate(s.Now())
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(s.key)
}

func (s *Server) checkToken(token, audience string) error {
	_, err := jwt.ParseWithClaims(token, new(jwt.RegisteredClaims), func(*jwt.Token) (any, error) { return s.key, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithAudience(audience), jwt.WithExpirationRequired())
	if err != nil {
		return status.Errorf(codes.Unauthenticated, "the token of this call: %v", err)
	}
	return nil
}

func (s *Server) admitUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	ctx, err := s.admit(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return handle(ctx, req)
}

func (s *Server) admitStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	ctx, err := s.admit(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return handle(srv, &contextStream{ServerStream: stream, ctx: ctx})
}

// contextStream is a stream with a context of its own.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *contextStream) Context() context.Context { return s.ctx }

func (c *control) AuthTokenGet(ctx context.Context, _ *pb.AuthTokenGetRequest) (*pb.AuthTokenGetResponse, error) {
	token, err := c.issueToken(workspaceOf(ctx).name, authTokenLifetime)
	if err != nil {
		return nil, err
	}
	return pb.AuthTokenGetResponse_builder{Token: token}.Build(), nil
}

// ClientHello is what Airflow's connection test calls, and nobody else.
func (c *control) ClientHello(context.Context, *emptypb.Empty) (*pb.ClientHelloResponse, error) {
	return pb.ClientHelloResponse_builder{ImageBuilderVersion: builderVersion}.Build(), nil
}

// WorkspaceNameLookup tells whose token this is. Username is where Python reads
// the name; the field with that name is deprecated.
func (c *control) WorkspaceNameLookup(ctx context.Context, _ *emptypb.Empty) (*pb.WorkspaceNameLookupResponse, error) {
	name := workspaceOf(ctx).name
	return pb.WorkspaceNameLookupResponse_builder{Username: name}.Build(), nil
}

// randomBase62 returns n random letters and digits.
func randomBase62(n int) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	id := make([]byte, 0, n)
	for random := make([]byte, 2*n); len(id) < n; {
		_, _ = rand.Read(random) // never fails
		for _, b := range random {
			if int(b) < 4*len(digits) {
				id = append(id, digits[int(b)%len(digits)])
			}
		}
	}
	return string(id[:n])
}
