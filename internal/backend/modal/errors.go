// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// classes are what Modal's codes mean to a caller.
var classes = map[codes.Code]error{
	codes.NotFound:           backend.ErrNotFound,
	codes.Unauthenticated:    backend.ErrUnauthorized,
	codes.PermissionDenied:   backend.ErrUnauthorized,
	codes.InvalidArgument:    backend.ErrInvalid,
	codes.OutOfRange:         backend.ErrInvalid,
	codes.AlreadyExists:      backend.ErrConflict,
	codes.FailedPrecondition: backend.ErrConflict,
	codes.Aborted:            backend.ErrConflict,
	codes.Unimplemented:      backend.ErrUnsupported,
	codes.ResourceExhausted:  backend.ErrUnavailable, // over a rate or a quota: refused before any effect
	codes.Unavailable:        backend.ErrUnavailable,
	codes.DeadlineExceeded:   backend.ErrUnavailable,
	codes.Canceled:           backend.ErrUnavailable,
	codes.Internal:           backend.ErrUnavailable,
	codes.Unknown:            backend.ErrUnavailable,
	codes.DataLoss:           backend.ErrUnavailable,
}

// unanswered are the codes that leave open what a call has done. They are also
// those on which the client itself tries again (client.go).
var unanswered = map[codes.Code]bool{
	codes.Unavailable:      true,
	codes.DeadlineExceeded: true,
	codes.Canceled:         true,
	codes.Internal:         true,
	codes.Unknown:          true,
	codes.DataLoss:         true,
}

// settled gives what one attempt of a call ended in its class. Only an answer of
// the server keeps its gRPC status, for the client to see.
func settled(ctx context.Context, call backend.Call, err error) error {
	answer, ok := status.FromError(err)
	switch {
	case err == nil, ok && retryAfter(answer) > 0:
		return err
	case errors.Is(ctx.Err(), context.Canceled): // what it means is the Caller's to say
		return fmt.Errorf("%s: %w", call.Verb, context.Cause(ctx))
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %s: no answer in time: %w", lost(call), call.Verb, context.Cause(ctx))
	case !ok:
		return err
	case unanswered[answer.Code()]:
		return fmt.Errorf("%w: %s: %s (%s)", lost(call), call.Verb, answer.Message(), answer.Code())
	}
	return &refusal{call.Verb, answer}
}

// lost is the class of a call that was not answered.
func lost(call backend.Call) error {
	if call.Idempotent {
		return backend.ErrUnavailable
	}
	return backend.ErrUnknownOutcome
}

// refusal is a server's answer to one call.
type refusal struct {
	verb   string
	status *status.Status
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%v: %s: %s (%s)", r.Unwrap(), r.verb, r.status.Message(), r.status.Code())
}

func (r *refusal) Unwrap() error { return classes[r.status.Code()] }

// GRPCStatus is what the client maps some of its own errors by.
func (r *refusal) GRPCStatus() *status.Status { return r.status }

// classed gives an error of Modal's client a class, unless it has one. The client
// returns its own types in some places and gRPC's statuses in most (measured), so
// both are looked at.
func classed(err error) error {
	if err == nil || hasClass(err) {
		return err
	}
	answer, ok := status.FromError(err)
	if after := retryAfter(answer); ok && after > 0 {
		return &backend.RetryAfterError{After: after, Err: errors.New(answer.Message())}
	}
	if strings.Contains(err.Error(), missingCredentials) { // its advice is for who writes Go
		return fmt.Errorf("%w: %s: set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET, or have a profile in .modal.toml", backend.ErrUnauthorized, missingCredentials)
	}
	if class := typedClass(err); class != nil {
		return fmt.Errorf("%w: %w", class, err)
	}
	if class := classes[answer.Code()]; ok && class != nil {
		return fmt.Errorf("%w: %s (%s)", class, answer.Message(), answer.Code())
	}
	return err
}

// missingCredentials is what the client says at its first call when it was made
// without any; it has no type for that (client.go).
const missingCredentials = "missing credentials"

func hasClass(err error) bool {
	for _, class := range []error{
		backend.ErrNotFound, backend.ErrUnauthorized, backend.ErrUnenforceable, backend.ErrConflict, backend.ErrUnavailable,
		backend.ErrUnknownOutcome, backend.ErrUnsupported, backend.ErrTooLarge, backend.ErrInvalid,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

func typedClass(err error) error {
	switch {
	case is[sdk.NotFoundError](err):
		return backend.ErrNotFound
	case is[sdk.AlreadyExistsError](err), is[sdk.ConflictError](err):
		return backend.ErrConflict
	case is[sdk.InvalidError](err), is[sdk.RemoteError](err):
		return backend.ErrInvalid
	case is[sdk.ResourceExhaustedError](err), is[sdk.InternalFailure](err), is[sdk.TimeoutError](err),
		is[sdk.SandboxTimeoutError](err), is[sdk.ClientClosedError](err):
		return backend.ErrUnavailable
	}
	return nil
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// retryAfter is when the server wants to be called again; 0: it says nothing.
func retryAfter(answer *status.Status) time.Duration {
	for _, detail := range answer.Details() {
		if policy, ok := detail.(*pb.RPCRetryPolicy); ok {
			return max(time.Duration(float64(policy.GetRetryAfterSecs())*float64(time.Second)), time.Millisecond)
		}
	}
	return 0
}
