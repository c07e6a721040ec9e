// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// replayed keeps the replies to creates by idempotency key. One logical call of
// a client has one key, however often it is repeated.
type replayed struct {
	mu      sync.Mutex
	replies map[string]any
}

// replayUnary answers a create that was made before with the first reply, when
// Options.ReplayCreates is set.
func (s *Server) replayUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := methodName(info.FullMethod)
	headers, _ := metadata.FromIncomingContext(ctx)
	key := header(headers, "x-idempotency-key")
	if !s.opts.ReplayCreates || key == "" || method != "SandboxCreate" && method != "SandboxCreateV2" {
		return handle(ctx, req)
	}
	s.replayed.mu.Lock()
	defer s.replayed.mu.Unlock()
	if reply, ok := s.replayed.replies[key]; ok {
		return reply, nil
	}
	reply, err := handle(ctx, req)
	if err == nil {
		if s.replayed.replies == nil {
			s.replayed.replies = make(map[string]any)
		}
		s.replayed.replies[key] = reply
	}
	return reply, err
}
