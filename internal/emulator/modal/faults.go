// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault is something that goes wrong with a call.
type Fault struct {
	// Workspace is the name of the account whose calls of the control plane are
	// hit; empty: every call.
	Workspace string
	// After lets the call take effect first, so that only its reply is lost.
	After bool
	// Code of the answer; OK only delays.
	Code codes.Code
	// Message of the answer; empty: a general one.
	Message string
	// RetryAfter, with a Code, asks the client to wait so long and try again
	// (Modal's RPCRetryPolicy).
	RetryAfter time.Duration
	// Delay passes before the answer, and with After set after the effect.
	Delay time.Duration
	// Stall never answers; the call ends when the client leaves.
	Stall bool
	// Cut lists no more than Keep sandboxes in a reply to a list, as if there
	// were no more.
	Cut  bool
	Keep int
	// Skip lets so many calls pass before the first fault.
	Skip int
	// Times is how many calls are hit; 0: one; negative: all until Heal.
	Times int
}

// faults are what goes wrong, by method.
type faults struct {
	mu     sync.Mutex
	script map[string][]*Fault
}

// Methods are the names that Fail knows, in order: those of both services, be
// they emulated or not.
func Methods() []string {
	var names []string
	for _, service := range []grpc.ServiceDesc{pb.ModalClient_ServiceDesc, pb.TaskCommandRouter_ServiceDesc} {
		for _, method := range service.Methods {
			names = append(names, method.MethodName)
		}
		for _, stream := range service.Streams {
			names = append(names, stream.StreamName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Fail makes the next calls of a method go wrong, until heal takes that back.
// Faults of one method happen one after another.
func (s *Server) Fail(method string, fault Fault) (heal func()) {
	if fault.Times == 0 {
		fault.Times = 1
	}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.script == nil {
		s.faults.script = make(map[string][]*Fault)
	}
	s.faults.script[method] = append(s.faults.script[method], &fault)
	return func() {
		s.faults.mu.Lock()
		defer s.faults.mu.Unlock()
		if left, ok := s.faults.script[method]; ok {
			s.faults.script[method] = slices.DeleteFunc(left, func(f *Fault) bool { return f == &fault })
		}
	}
}

// Heal takes all faults back.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.script = nil
}

// next returns the fault that hits this call of method, if any. by is nil in a
// call of the command router.
func (f *faults) next(method string, by *workspace) (Fault, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := slices.IndexFunc(f.script[method], func(f *Fault) bool { return f.Workspace == "" || by != nil && f.Workspace == by.name })
	if at < 0 {
		return Fault{}, false
	}
	first := f.script[method][at]
	if first.Skip > 0 {
		first.Skip--
		return Fault{}, false
	}
	if first.Times--; first.Times == 0 {
		f.script[method] = slices.Delete(f.script[method], at, at+1)
	}
	return *first, true
}

// happen is what the client sees of a fault.
func (f Fault) happen(ctx context.Context) error {
	if err := pause(ctx, f.Delay); err != nil {
		return err
	}
	if f.Stall {
		<-ctx.Done()
		return status.FromContextError(ctx.Err()).Err()
	}
	if f.Code == codes.OK {
		return nil
	}
	message := f.Message
	if message == "" {
		message = "the emulator was told to fail"
	}
	answer := status.New(f.Code, message)
	if f.RetryAfter > 0 {
		policy := pb.RPCRetryPolicy_builder{RetryAfterSecs: float32(f.RetryAfter.Seconds())}.Build()
		if detailed, err := answer.WithDetails(policy); err == nil {
			answer = detailed
		}
	}
	return answer.Err()
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// delayUnary answers when Options.Latency has passed since the call came; what the
// server itself took is part of it.
func (s *Server) delayUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if s.opts.Latency <= 0 || strings.HasPrefix(info.FullMethod, routerPrefix) {
		return handle(ctx, req)
	}
	due := time.NewTimer(s.opts.Latency)
	defer due.Stop()
	reply, err := handle(ctx, req)
	select {
	case <-due.C:
		return reply, err
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (s *Server) disturbUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	fault, hit := s.faults.next(methodName(info.FullMethod), workspaceOf(ctx))
	if hit && !fault.After {
		if err := fault.happen(ctx); err != nil {
			return nil, err
		}
	}
	reply, err := handle(ctx, req)
	if list, ok := reply.(*pb.SandboxListResponse); ok && hit && fault.Cut && err == nil {
		list.SetSandboxes(list.GetSandboxes()[:min(fault.Keep, len(list.GetSandboxes()))])
	}
	if hit && fault.After && err == nil {
		if err := fault.happen(ctx); err != nil {
			return nil, err
		}
	}
	return reply, err
}

func (s *Server) disturbStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	fault, hit := s.faults.next(methodName(info.FullMethod), workspaceOf(stream.Context()))
	if hit && !fault.After {
		if err := fault.happen(stream.Context()); err != nil {
			return err
		}
	}
	err := handle(srv, stream)
	if hit && fault.After && err == nil {
		err = fault.happen(stream.Context())
	}
	return err
}
