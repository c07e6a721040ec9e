// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"io"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TaskExecStdioRead streams one output of a command from an offset to its end.
func (r *router) TaskExecStdioRead(req *pb.TaskExecStdioReadRequest, stream grpc.ServerStreamingServer[pb.TaskExecStdioReadResponse]) error {
	cmd, err := r.command(req.GetTaskId(), req.GetExecId())
	if err != nil {
		return err
	}
	out := cmd.stdout
	if req.GetFileDescriptor() == pb.TaskExecStdioFileDescriptor_TASK_EXEC_STDIO_FILE_DESCRIPTOR_STDERR {
		out = cmd.stderr
	}
	return out.copyTo(stream.Context(), int64(req.GetOffset()), func(_ int64, data []byte) error {
		return stream.Send(pb.TaskExecStdioReadResponse_builder{Data: data}.Build())
	})
}

// SandboxStdioReadV2 streams an output of the entrypoint.
func (r *router) SandboxStdioReadV2(req *pb.SandboxStdioReadV2Request, stream grpc.ServerStreamingServer[pb.SandboxStdioReadV2Response]) error {
	cmd, err := r.command(req.GetTaskId(), "")
	if err != nil {
		return err
	}
	out := cmd.stdout
	if req.GetFileDescriptor() == pb.SandboxStdioFileDescriptor_SANDBOX_STDIO_FILE_DESCRIPTOR_STDERR {
		out = cmd.stderr
	}
	return out.copyTo(stream.Context(), int64(req.GetOffset()), func(offset int64, data []byte) error {
		return stream.Send(pb.SandboxStdioReadV2Response_builder{Data: data, StartingOffset: uint64(offset)}.Build())
	})
}

// SandboxGetLogs is how the first generation reads the entrypoint's output.
func (c *control) SandboxGetLogs(req *pb.SandboxGetLogsRequest, stream grpc.ServerStreamingServer[pb.TaskLogsBatch]) error {
	w, unlock := c.lock(stream.Context())
	box, err := c.sandbox(w, req.GetSandboxId())
	var cmd *command
	if err == nil {
		cmd = box.commands[""]
	}
	unlock()
	if err != nil {
		return err
	}
	if cmd != nil {
		out := cmd.stdout
		if req.GetFileDescriptor() == pb.FileDescriptor_FILE_DESCRIPTOR_STDERR {
			out = cmd.stderr
		}
		err = out.copyTo(stream.Context(), 0, func(_ int64, data []byte) error {
			items := []*pb.TaskLogs{pb.TaskLogs_builder{Data: string(data), FileDescriptor: req.GetFileDescriptor(), Timestamp: seconds(c.Now())}.Build()}
			return stream.Send(pb.TaskLogsBatch_builder{TaskId: box.taskID, SandboxId: box.id, Items: items}.Build())
		})
		if err != nil {
			return err
		}
	}
	return stream.Send(pb.TaskLogsBatch_builder{TaskId: box.taskID, SandboxId: box.id, Eof: true}.Build())
}

// copyTo sends everything from offset on.
func (s *spool) copyTo(ctx context.Context, offset int64, send func(offset int64, data []byte) error) error {
	for {
		data, err := s.next(ctx, offset)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := send(offset, data); err != nil {
			return err
		}
		offset += int64(len(data))
	}
}

func (r *router) TaskExecStdinWrite(_ context.Context, req *pb.TaskExecStdinWriteRequest) (*pb.TaskExecStdinWriteResponse, error) {
	cmd, err := r.command(req.GetTaskId(), req.GetExecId())
	if err != nil {
		return nil, err
	}
	if err := cmd.stdin.write(req.GetOffset(), req.GetData()); err != nil {
		return nil, err
	}
	if req.GetEof() {
		cmd.stdin.eof()
	}
	return &pb.TaskExecStdinWriteResponse{}, nil
}

// TaskExecStdinWriteStream is a start, data, and an end: without the end the
// input stays open.
func (r *router) TaskExecStdinWriteStream(stream grpc.ClientStreamingServer[pb.TaskExecStdinWriteStreamRequest, pb.TaskExecStdinWriteStreamResponse]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if !first.HasStart() {
		return status.Error(codes.InvalidArgument, "the stream does not begin with a start")
	}
	cmd, err := r.command(first.GetStart().GetTaskId(), first.GetStart().GetExecId())
	if err != nil {
		return err
	}
	for offset := first.GetStart().GetOffset(); ; {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if message.HasEnd() {
			cmd.stdin.eof()
			break
		}
		if err := cmd.stdin.write(offset, message.GetData()); err != nil {
			return err
		}
		offset += uint64(len(message.GetData()))
	}
	return stream.SendAndClose(&pb.TaskExecStdinWriteStreamResponse{})
}

func (r *router) TaskExecStdinStatus(_ context.Context, req *pb.TaskExecStdinStatusRequest) (*pb.TaskExecStdinStatusResponse, error) {
	cmd, err := r.command(req.GetTaskId(), req.GetExecId())
	if err != nil {
		return nil, err
	}
	return pb.TaskExecStdinStatusResponse_builder{
		NumBytesWritten: cmd.stdin.written.Load(), Closed: cmd.stdin.closed.Load(),
	}.Build(), nil
}
