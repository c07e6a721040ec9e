// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
)

// firstUID begins the host users of sandboxes when this process is root: each
// sandbox has one of its own, of a range that systemd's table of users leaves
// to nobody (UIDS-GIDS.md), apart from those of the local backend.
const firstUID = 0x7e000000

// maxArguments is how long a command line may be, in bytes, as the clients
// check too.
const maxArguments = 64 << 10

// task finds the sandbox of a task, of any workspace: the token of the command
// router was given for one.
func (s *Server) task(id string) (*sandbox, error) {
	box := s.tasks[id]
	if box == nil {
		return nil, status.Errorf(codes.NotFound, "Task '%s' not found", id)
	}
	s.settle(box)
	return box, nil
}

func (s *Server) runningTask(id string) (*sandbox, error) {
	box, err := s.task(id)
	if err == nil && box.ended != nil {
		return nil, status.Errorf(codes.NotFound, "Task '%s' has ended", id)
	}
	return box, err
}

// command finds one that was started, also after the sandbox's end.
func (s *Server) command(taskID, execID string) (*command, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	box, err := s.task(taskID)
	if err != nil {
		return nil, err
	}
	if cmd := box.commands[execID]; cmd != nil {
		return cmd, nil
	}
	return nil, status.Errorf(codes.NotFound, "Exec '%s' not found", execID)
}

// TaskExecStart starts a command. The exec id is the client's, and a second
// start with it starts nothing.
func (r *router) TaskExecStart(_ context.Context, req *pb.TaskExecStartRequest) (*pb.TaskExecStartResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	box, err := r.runningTask(req.GetTaskId())
	if err != nil {
		return nil, err
	}
	if box.commands[req.GetExecId()] != nil {
		return &pb.TaskExecStartResponse{}, nil
	}
	return &pb.TaskExecStartResponse{}, r.start(box, req)
}

func (s *Server) start(box *sandbox, req *pb.TaskExecStartRequest) error {
	length := 0
	for _, arg := range req.GetCommandArgs() {
		length += len(arg)
	}
	if length == 0 || length > maxArguments {
		return status.Errorf(codes.InvalidArgument, "the command has %d bytes of arguments; between 1 and %d are allowed", length, maxArguments)
	}
	env, err := box.workspace.variables(req.GetSecretIds(), req.GetSecretSources(), req.GetEnv())
	if err != nil {
		return err
	}
	cmd := newCommand(box, req.GetExecId(),
		req.GetStdoutConfig() == pb.TaskExecStdoutConfig_TASK_EXEC_STDOUT_CONFIG_PIPE,
		req.GetStderrConfig() == pb.TaskExecStderrConfig_TASK_EXEC_STDERR_CONFIG_PIPE,
		req.GetStderrConfig() == pb.TaskExecStderrConfig_TASK_EXEC_STDERR_CONFIG_STDOUT)
	argv := req.GetCommandArgs()
	if argv[0] == helperPath {
		cmd.helper, argv = newHelper(argv[1:], cmp.Or(box.definition.GetWorkdir(), engine.DefaultWorkdir))
	}
	spec, err := s.spec(box, argv, cmp.Or(req.GetWorkdir(), box.definition.GetWorkdir()), env)
	if err != nil {
		return err
	}
	s.enter(box, cmd)
	timeout := time.Duration(req.GetTimeoutSecs()) * time.Second
	s.running.Go(func() {
		cmd.run(s, spec, timeout)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.leave(box, cmd)
	})
	return nil
}

// enter counts a command in; a sandbox is not idle while one runs.
func (s *Server) enter(box *sandbox, cmd *command) {
	if box.commands == nil {
		box.commands = make(map[string]*command)
	}
	box.commands[cmd.id] = cmd
	box.busy++
}

func (s *Server) leave(box *sandbox, cmd *command) {
	box.busy--
	box.idleSince = s.Now()
	time.AfterFunc(retention, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(box.commands, cmd.id)
	})
}

// spec says how to run argv in the sandbox, and makes its directory when this
// is its first command.
func (s *Server) spec(box *sandbox, argv []string, dir string, env map[string]string) (engine.Spec, error) {
	if box.dir == "" {
		if err := s.furnish(box); err != nil {
			return engine.Spec{}, status.Errorf(codes.Internal, "make the sandbox's directory: %v", err)
		}
	}
	all := maps.Clone(box.env)
	if all == nil {
		all = make(map[string]string)
	}
	maps.Copy(all, env)
	return engine.Spec{
		Argv: argv, Dir: dir, Env: all, Work: box.dir, Workdir: box.definition.GetWorkdir(),
		Network: isOpen(box.access), HostUID: box.uid, HostGID: box.uid,
	}, nil
}

func (s *Server) furnish(box *sandbox) error {
	dir := filepath.Join(s.dir, box.id)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		box.uid = s.nextUID
		s.nextUID++
		if err := os.Chown(dir, box.uid, box.uid); err != nil {
			return err
		}
	}
	box.dir = dir
	s.watchEnd(box)
	return nil
}

// watchEnd ends the sandbox in time even when nobody asks for it, so that no
// command outlives it.
func (s *Server) watchEnd(box *sandbox) {
	time.AfterFunc(s.nextChange(box), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.settle(box); box.ended == nil && s.stopped.Err() == nil {
			s.watchEnd(box)
		}
	})
}

// TaskExecWait answers when the command has ended; clients give up after a
// minute and ask again.
func (r *router) TaskExecWait(ctx context.Context, req *pb.TaskExecWaitRequest) (*pb.TaskExecWaitResponse, error) {
	cmd, err := r.command(req.GetTaskId(), req.GetExecId())
	if err != nil {
		return nil, err
	}
	select {
	case <-cmd.reported:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if cmd.problem != nil {
		return nil, refused(cmd.problem)
	}
	if cmd.signal != 0 {
		return pb.TaskExecWaitResponse_builder{Signal: proto.Int32(int32(cmd.signal))}.Build(), nil
	}
	return pb.TaskExecWaitResponse_builder{Code: proto.Int32(int32(cmd.code))}.Build(), nil
}

func (r *router) TaskExecPoll(_ context.Context, req *pb.TaskExecPollRequest) (*pb.TaskExecPollResponse, error) {
	cmd, err := r.command(req.GetTaskId(), req.GetExecId())
	if err != nil {
		return nil, err
	}
	select {
	case <-cmd.reported:
	default:
		return &pb.TaskExecPollResponse{}, nil
	}
	switch {
	case cmd.problem != nil:
		return nil, refused(cmd.problem)
	case cmd.signal != 0:
		return pb.TaskExecPollResponse_builder{Signal: proto.Int32(int32(cmd.signal))}.Build(), nil
	}
	return pb.TaskExecPollResponse_builder{Code: proto.Int32(int32(cmd.code))}.Build(), nil
}

// refused gives the engine's errors codes that the clients do not retry.
func refused(err error) error {
	if errors.Is(err, engine.ErrInvalid) {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return status.Error(codes.FailedPrecondition, err.Error())
}
