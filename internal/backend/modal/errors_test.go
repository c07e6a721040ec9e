// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

func TestEveryCodeHasAClassAndOneAloneMeansAbsence(t *testing.T) {
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		for _, err := range []error{status.Error(code, "says"), fmt.Errorf("wrapped: %w", status.Error(code, "says"))} {
			got := classed(err)
			if !errors.Is(got, classes[code]) || classes[code] == nil || !strings.Contains(got.Error(), "says") {
				t.Errorf("%s: %v, want %v with the server's words", code, got, classes[code])
			}
			if absent := errors.Is(got, backend.ErrNotFound); absent != (code == codes.NotFound) {
				t.Errorf("%s: means absence: %t", code, absent)
			}
		}
	}
}

func TestTheClientsOwnErrorsHaveAClass(t *testing.T) {
	for _, test := range []struct{ err, want error }{
		{sdk.NotFoundError{Exception: "x"}, backend.ErrNotFound},
		{sdk.AlreadyExistsError{Exception: "x"}, backend.ErrConflict},
		{sdk.ConflictError{Exception: "x"}, backend.ErrConflict},
		{sdk.InvalidError{Exception: "x"}, backend.ErrInvalid},
		{sdk.RemoteError{Exception: "x"}, backend.ErrInvalid},
		{sdk.ResourceExhaustedError{Exception: "x"}, backend.ErrUnavailable},
		{sdk.ClientClosedError{Exception: "x"}, backend.ErrUnavailable},
	} {
		if got := classed(fmt.Errorf("wrapped: %w", test.err)); !errors.Is(got, test.want) {
			t.Errorf("%T: %v, want %v", test.err, got, test.want)
		}
	}
	if got := classed(errors.New("something else")); hasClass(got) || got.Error() != "something else" || classed(nil) != nil {
		t.Errorf("%v: what is not known must stay as it is", got)
	}
}

// Modal's client looks for a gRPC status to decide whether it tries again.
func TestOnlyTheCallerTriesAgain(t *testing.T) {
	read, create := callOf("/modal.client.ModalClient/SandboxListV2"), callOf("/modal.client.ModalClient/SandboxCreateV2")
	if !read.Idempotent || create.Idempotent || create.Deadline <= read.Deadline {
		t.Fatalf("calls %+v and %+v", read, create)
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		for call, lost := range map[backend.Call]error{read: backend.ErrUnavailable, create: backend.ErrUnknownOutcome} {
			got := settled(t.Context(), call, status.Error(code, "says"))
			_, visible := status.FromError(got)
			switch {
			case unanswered[code] && (visible || !errors.Is(got, lost)):
				t.Errorf("%s of %s: %v, visible to the client %t; want %v, hidden", code, call.Verb, got, visible, lost)
			case !unanswered[code] && (!visible || status.Code(got) != code || !errors.Is(got, classes[code])):
				t.Errorf("%s of %s: %v, visible to the client %t; want %v, visible", code, call.Verb, got, visible, classes[code])
			}
		}
	}
}

func TestAServersWishToBeCalledLaterIsLeftToTheClient(t *testing.T) {
	answer, err := status.New(codes.ResourceExhausted, "slow down").
		WithDetails(pb.RPCRetryPolicy_builder{RetryAfterSecs: 1.5}.Build())
	if err != nil {
		t.Fatal(err)
	}
	call := callOf("/modal.client.ModalClient/SandboxListV2")
	if got := settled(t.Context(), call, answer.Err()); status.Code(got) != codes.ResourceExhausted || hasClass(got) {
		t.Errorf("within the call: %v, want the answer itself", got)
	}
	got := classed(answer.Err())
	asked, ok := errors.AsType[*backend.RetryAfterError](got)
	if !ok || asked.After != 1500*time.Millisecond || !errors.Is(got, backend.ErrUnavailable) {
		t.Errorf("at the end: %v, want unavailable for 1.5s", got)
	}
}

func TestACallThatIsGivenUpKeepsTheCause(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call := callOf("/modal.client.ModalClient/SandboxCreateV2")
	got := settled(ctx, call, status.Error(codes.Canceled, "context canceled"))
	if _, visible := status.FromError(got); visible || hasClass(got) || !errors.Is(got, context.Canceled) {
		t.Errorf("%v; want the cause alone", got)
	}
}
