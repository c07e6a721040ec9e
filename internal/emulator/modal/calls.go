// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"maps"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Call is one call that a client made.
type Call struct {
	// Method is the name without the service, such as "SandboxCreateV2".
	Method string
	// Number counts all calls of the server, from 1.
	Number int
	// TokenID tells the callers of one workspace apart; the command router's calls
	// carry none.
	TokenID string
	// Request is the message; of a stream, its first, and only once the call has
	// been handled. It must not be changed.
	Request proto.Message
	// After tells Options.Watch that the call has been handled.
	After bool
	// Code is the answer's, once there is one.
	Code codes.Code
}

// calls counts what clients ask for.
type calls struct {
	mu     sync.Mutex
	total  int
	counts map[string]int
}

// Calls returns how often each method was called.
func (s *Server) Calls() map[string]int {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	return maps.Clone(s.calls.counts)
}

// ResetCalls begins the counts anew.
func (s *Server) ResetCalls() {
	s.calls.mu.Lock()
	defer s.calls.mu.Unlock()
	s.calls.counts = nil
}

func (s *Server) begin(ctx context.Context, fullMethod string, request any) *Call {
	message, _ := request.(proto.Message)
	headers, _ := metadata.FromIncomingContext(ctx)
	call := &Call{Method: methodName(fullMethod), Request: message, TokenID: header(headers, "x-modal-token-id")}
	s.calls.mu.Lock()
	s.calls.total++
	call.Number = s.calls.total
	if s.calls.counts == nil {
		s.calls.counts = make(map[string]int)
	}
	s.calls.counts[call.Method]++
	before := *call
	s.calls.mu.Unlock()
	if s.opts.Watch != nil {
		s.opts.Watch(before)
	}
	return call
}

func (s *Server) finish(call *Call, err error) {
	s.calls.mu.Lock()
	call.Code = status.Code(err)
	after := *call
	s.calls.mu.Unlock()
	if after.Code == codes.Unimplemented {
		s.log.Warn("a client called a method that is not emulated", "method", after.Method)
	}
	if after.After = true; s.opts.Watch != nil {
		s.opts.Watch(after)
	}
}

func (s *Server) recordUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	call := s.begin(ctx, info.FullMethod, req)
	reply, err := handle(ctx, req)
	s.finish(call, err)
	return reply, err
}

func (s *Server) recordStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	call := s.begin(stream.Context(), info.FullMethod, nil)
	recorded := &recordedStream{ServerStream: stream, calls: &s.calls, call: call}
	err := handle(srv, recorded)
	s.finish(call, err)
	return err
}

// recordedStream keeps the first message that is received.
type recordedStream struct {
	grpc.ServerStream
	calls *calls
	call  *Call
}

func (s *recordedStream) RecvMsg(m any) error {
	err := s.ServerStream.RecvMsg(m)
	if message, ok := m.(proto.Message); ok && err == nil {
		s.calls.mu.Lock()
		if s.call.Request == nil {
			s.call.Request = message
		}
		s.calls.mu.Unlock()
	}
	return err
}
