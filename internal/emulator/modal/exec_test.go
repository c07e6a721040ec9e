// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// routerClient speaks to the command router as the protocol has it, for the
// task of a new sandbox.
type routerClient struct {
	pb.TaskCommandRouterClient
	*client
	task string
}

func (s *Server) routerClient(t *testing.T) *routerClient {
	t.Helper()
	c := s.client(t, V2)
	box := c.box(nil)
	access, err := c.raw().SandboxGetCommandRouterAccess(c.ctx, pb.SandboxGetCommandRouterAccessRequest_builder{SandboxId: &box.SandboxID}.Build())
	if err != nil {
		t.Fatal(err)
	}
	task, err := c.raw().SandboxGetTaskIdV2(c.ctx, pb.SandboxGetTaskIdRequest_builder{SandboxId: box.SandboxID}.Build())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	c.ctx = metadata.AppendToOutgoingContext(c.ctx, "authorization", "Bearer "+access.GetJwt())
	return &routerClient{pb.NewTaskCommandRouterClient(conn), c, task.GetTaskId()}
}

// execID is the id of a test's command.
const execID = "1"

func (r *routerClient) start(argv ...string) error {
	_, err := r.TaskExecStart(r.ctx, pb.TaskExecStartRequest_builder{
		TaskId: r.task, ExecId: execID, CommandArgs: argv,
		StdoutConfig: pb.TaskExecStdoutConfig_TASK_EXEC_STDOUT_CONFIG_PIPE,
		StderrConfig: pb.TaskExecStderrConfig_TASK_EXEC_STDERR_CONFIG_PIPE,
	}.Build())
	return err
}

func (r *routerClient) read(offset uint64) string {
	r.t.Helper()
	stream, err := r.TaskExecStdioRead(r.ctx, pb.TaskExecStdioReadRequest_builder{TaskId: r.task, ExecId: execID, Offset: offset}.Build())
	if err != nil {
		r.t.Fatal(err)
	}
	var all strings.Builder
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return all.String()
		}
		if err != nil {
			r.t.Fatal(err)
		}
		all.Write(message.GetData())
	}
}

func (r *routerClient) write(offset uint64, data string, eof bool) error {
	_, err := r.TaskExecStdinWrite(r.ctx, pb.TaskExecStdinWriteRequest_builder{
		TaskId: r.task, ExecId: execID, Offset: offset, Data: []byte(data), Eof: eof,
	}.Build())
	return err
}

func TestCommandIsStartedOnceForItsID(t *testing.T) {
	r := start(t, Options{}).routerClient(t)
	for range 2 {
		if err := r.start("sh", "-c", "echo once >> count; cat count"); err != nil {
			t.Fatal(err)
		}
		if got := r.read(0); got != "once\n" {
			t.Errorf("output %q", got)
		}
	}
}

func TestOutputIsReadFromAnyOffsetAlsoAfterTheEnd(t *testing.T) {
	r := start(t, Options{}).routerClient(t)
	if err := r.start("printf", "0123456789"); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[uint64]string{0: "0123456789", 7: "789", 10: ""} {
		if got := r.read(offset); got != want {
			t.Errorf("from %d: %q", offset, got)
		}
	}
}

func TestRepeatedInputIsTakenOnce(t *testing.T) {
	r := start(t, Options{}).routerClient(t)
	if err := r.start("cat"); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		r.write(0, "abc", false), r.write(0, "abc", false), r.write(1, "bcde", false),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := r.write(9, "x", false); status.Code(err) != codes.InvalidArgument {
		t.Errorf("input with a hole: %v", err)
	}
	reply, err := r.TaskExecStdinStatus(r.ctx, pb.TaskExecStdinStatusRequest_builder{TaskId: r.task, ExecId: execID}.Build())
	if err != nil || reply.GetNumBytesWritten() != 5 || reply.GetClosed() {
		t.Errorf("status %v, %v", reply, err)
	}
	if err := r.write(5, "", true); err != nil {
		t.Fatal(err)
	}
	if got := r.read(0); got != "abcde" {
		t.Errorf("cat said %q", got)
	}
}

func TestInputOfAnEndedCommandIsRefused(t *testing.T) {
	r := start(t, Options{}).routerClient(t)
	if err := r.start("true"); err != nil {
		t.Fatal(err)
	}
	r.read(0)
	if err := r.write(0, "late", false); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("%v", err)
	}
}

func TestPollIsEmptyUntilTheEnd(t *testing.T) {
	r := start(t, Options{}).routerClient(t)
	if err := r.start("sh", "-c", "cat; exit 7"); err != nil {
		t.Fatal(err)
	}
	poll := pb.TaskExecPollRequest_builder{TaskId: r.task, ExecId: execID}.Build()
	if reply, err := r.TaskExecPoll(r.ctx, poll); err != nil || reply.HasCode() || reply.HasSignal() {
		t.Errorf("while it runs: %v, %v", reply, err)
	}
	if err := r.write(0, "", true); err != nil {
		t.Fatal(err)
	}
	if _, err := r.TaskExecWait(r.ctx, pb.TaskExecWaitRequest_builder{TaskId: r.task, ExecId: execID}.Build()); err != nil {
		t.Fatal(err)
	}
	if reply, err := r.TaskExecPoll(r.ctx, poll); err != nil || reply.GetCode() != 7 {
		t.Errorf("after the end: %v, %v", reply, err)
	}
}

func TestUnknownTaskAndCommandAreNotFound(t *testing.T) {
	r := start(t, Options{}).routerClient(t)
	known := r.task
	for _, task := range []string{known, "ta-x"} {
		_, err := r.TaskExecWait(r.ctx, pb.TaskExecWaitRequest_builder{TaskId: task, ExecId: "9"}.Build())
		if status.Code(err) != codes.NotFound {
			t.Errorf("wait in %s: %v", task, err)
		}
	}
	r.task = "ta-x"
	if err := r.start("true"); status.Code(err) != codes.NotFound {
		t.Errorf("start: %v", err)
	}
}

func TestCommandsRunForRealInTheSandboxesDirectory(t *testing.T) {
	s := start(t, Options{})
	s.AddSecret("named", map[string]string{"A": "named", "B": "named"})
	c := s.client(t, V2)
	named, err := c.Secrets.FromName(c.ctx, "named", nil)
	if err != nil {
		t.Fatal(err)
	}
	box := c.box(&sdk.SandboxCreateParams{Workdir: "/srv/data", Env: map[string]string{"B": "box", "C": "box"}, Secrets: []*sdk.Secret{named}})
	for name, test := range map[string]struct {
		argv   []string
		params sdk.SandboxExecParams
		want   done
	}{
		"workdir":           {argv: []string{"pwd"}, want: done{out: "/srv/data\n"}},
		"another directory": {argv: []string{"pwd"}, params: sdk.SandboxExecParams{Workdir: "/tmp"}, want: done{out: "/tmp\n"}},
		"environment":       {argv: []string{"sh", "-c", "echo $A $B $C"}, want: done{out: "named box box\n"}},
		"own environment":   {argv: []string{"sh", "-c", "echo $A $C"}, params: sdk.SandboxExecParams{Env: map[string]string{"C": "exec"}}, want: done{out: "named exec\n"}},
		"not root":          {argv: []string{"id", "-u"}, want: done{out: "1000\n"}},
		"exit code":         {argv: []string{"sh", "-c", "exit 3"}, want: done{code: 3}},
		"no such program":   {argv: []string{"no-such-program"}, want: done{code: 127, errs: "bwrap: execvp no-such-program: No such file or directory\n"}},
		"no output wanted":  {argv: []string{"sh", "-c", "echo x; echo y >&2"}, params: sdk.SandboxExecParams{Stdout: sdk.Ignore, Stderr: sdk.Ignore}},
		"background child":  {argv: []string{"sh", "-c", "sleep 60 & echo started"}, want: done{out: "started\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.exec(box, test.argv, &test.params)
			if err != nil || got != test.want {
				t.Errorf("%v, %v; want %v", got, err, test.want)
			}
		})
	}
	t.Run("files stay", func(t *testing.T) {
		c.sh(box, "echo kept > file")
		if out, code := c.sh(box, "cat /srv/data/file"); out != "kept\n" || code != 0 {
			t.Errorf("%q, %d", out, code)
		}
	})
	t.Run("other sandboxes do not see them", func(t *testing.T) {
		other := c.box(&sdk.SandboxCreateParams{Workdir: "/srv/data"})
		if out, code := c.sh(other, "cat /srv/data/file"); out != "" || code == 0 {
			t.Errorf("%q, %d", out, code)
		}
	})
}

func TestStderrCanGoIntoStdout(t *testing.T) {
	r := start(t, Options{}).routerClient(t)
	_, err := r.TaskExecStart(r.ctx, pb.TaskExecStartRequest_builder{
		TaskId: r.task, ExecId: execID, CommandArgs: []string{"sh", "-c", "echo x; echo y >&2"},
		StdoutConfig: pb.TaskExecStdoutConfig_TASK_EXEC_STDOUT_CONFIG_PIPE,
		StderrConfig: pb.TaskExecStderrConfig_TASK_EXEC_STDERR_CONFIG_STDOUT,
	}.Build())
	if err != nil {
		t.Fatal(err)
	}
	if got := r.read(0); got != "x\ny\n" {
		t.Errorf("%q", got)
	}
}

func TestDeadlineIsReportedLateUnlessToldToBeAtOnce(t *testing.T) {
	for name, delay := range map[string]time.Duration{"late": 1500 * time.Millisecond, "at once": -1} {
		t.Run(name, func(t *testing.T) {
			r := start(t, Options{DeadlineReportDelay: delay}).routerClient(t)
			_, err := r.TaskExecStart(r.ctx, pb.TaskExecStartRequest_builder{
				TaskId: r.task, ExecId: execID, CommandArgs: []string{"sleep", "60"}, TimeoutSecs: proto.Uint32(1),
			}.Build())
			if err != nil {
				t.Fatal(err)
			}
			inTime := time.NewTimer(2200 * time.Millisecond)
			reply, err := r.TaskExecWait(r.ctx, pb.TaskExecWaitRequest_builder{TaskId: r.task, ExecId: execID}.Build())
			if err != nil || reply.GetSignal() != 9 {
				t.Errorf("%v, %v; want signal 9", reply, err)
			}
			early := true
			select {
			case <-inTime.C:
				early = false
			default:
			}
			if early != (delay < 0) {
				t.Errorf("reported soon after the deadline: %v", early)
			}
		})
	}
}

func TestCommandThatNobodyListensToEndsWithTheServer(t *testing.T) {
	s, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := s.routerClient(t)
	// It fills what is kept, then is held up; nobody may enter its directory.
	if err := r.start("sh", "-c", "mkdir locked && chmod 0 locked; cat /dev/zero"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
