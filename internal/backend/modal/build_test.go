// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// builder answers as the emulator does not: it ends every stream at once, after
// the lines that it has.
type builder struct {
	pb.ModalClientClient
	result *pb.GenericResult // of the call that asks for the image
	lines  []string
	looks  int
}

func (b *builder) ImageGetOrCreate(context.Context, *pb.ImageGetOrCreateRequest, ...grpc.CallOption) (*pb.ImageGetOrCreateResponse, error) {
	return pb.ImageGetOrCreateResponse_builder{ImageId: "im-1", Result: b.result}.Build(), nil
}

func (b *builder) ImageJoinStreaming(context.Context, *pb.ImageJoinStreamingRequest, ...grpc.CallOption) (grpc.ServerStreamingClient[pb.ImageJoinStreamingResponse], error) {
	b.looks++
	return &lines{rest: b.lines}, nil
}

type lines struct {
	grpc.ServerStreamingClient[pb.ImageJoinStreamingResponse]
	rest []string
}

func (l *lines) Recv() (*pb.ImageJoinStreamingResponse, error) {
	if len(l.rest) == 0 {
		return nil, io.EOF
	}
	line := l.rest[0]
	l.rest = l.rest[1:]
	return pb.ImageJoinStreamingResponse_builder{
		EntryId: "1-0", TaskLogs: []*pb.TaskLogs{pb.TaskLogs_builder{Data: line}.Build()},
	}.Build(), nil
}

func (b *builder) build(ctx context.Context) error {
	a := &app{builder: "2025.06", caller: &backend.Caller{}, clock: clock.System()}
	s := &session{app: a, rpc: b, found: &sdk.App{AppID: "ap-1"}}
	_, err := s.build(ctx, backend.ImageSpec{From: "python:3.12-slim"}, nil)
	return err
}

func TestABuildThatSaysNothingIsLookedAtCalmlyAndGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &builder{}
		begun := clock.System().Now()
		wantClass(t, b.build(t.Context()), backend.ErrUnavailable, "im-1", "apply again")
		if took, most := clock.System().Now().Sub(begun), int(joinQuiet/joinPause)+1; took < joinQuiet || took > joinQuiet+time.Minute || b.looks > most {
			t.Errorf("given up after %s and %d looks, want %s and at most %d", took, b.looks, joinQuiet, most)
		}
	})
}

func TestABuildIsLeftWhenItsCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+joinPause/2) // between two looks
		defer cancel()
		wantClass(t, (&builder{}).build(ctx), context.DeadlineExceeded, "im-1")
	})
}

func TestABuildThatHasFailedAlreadyShowsItsLog(t *testing.T) {
	failure := pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_FAILURE, Exception: "step 1"}.Build()
	b := &builder{result: failure, lines: []string{"no such package\n"}}
	wantClass(t, b.build(t.Context()), backend.ErrInvalid, "failure", "step 1", "no such package")
	if b.looks != 1 {
		t.Errorf("%d looks at its log, want 1", b.looks)
	}
}
