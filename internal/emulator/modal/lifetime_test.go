// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// poll returns the exit code, or -1 while the sandbox runs.
func (c *client) poll(box *sdk.Sandbox) int {
	c.t.Helper()
	code, err := box.Poll(c.ctx, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if code == nil {
		return -1
	}
	return *code
}

func TestSandboxEndsByTheServersClockSomeTimeAfterItsTimeout(t *testing.T) {
	s := start(t, Options{TimeoutLag: 10 * time.Second})
	c := s.client(t, V2)
	box := c.box(&sdk.SandboxCreateParams{Timeout: time.Hour})
	s.Advance(time.Hour)
	if got := c.poll(box); got != -1 {
		t.Errorf("at its timeout: %d", got)
	}
	s.Advance(10 * time.Second)
	if got := c.poll(box); got != 124 {
		t.Errorf("after the lag: %d", got)
	}
}

func TestCommandsAndFilesEndWithTheirSandbox(t *testing.T) {
	for name, end := range map[string]func(c *client, s *Server, box *sdk.Sandbox) error{
		"terminated": func(c *client, _ *Server, box *sdk.Sandbox) error {
			_, err := box.Terminate(c.ctx, nil)
			return err
		},
		"past its timeout": func(_ *client, s *Server, _ *sdk.Sandbox) error { s.Advance(time.Hour); return nil },
		"evicted":          func(_ *client, s *Server, box *sdk.Sandbox) error { return s.Evict(box.SandboxID) },
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{PollLag: time.Hour})
			c := s.client(t, V2)
			box := c.box(&sdk.SandboxCreateParams{Timeout: time.Hour})
			process, err := box.Exec(c.ctx, []string{"sh", "-c", "echo begun; exec sleep 60"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := process.Stdout.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if err := end(c, s, box); err != nil {
				t.Fatal(err)
			}
			if code, err := process.Wait(c.ctx, nil); code != 137 || err != nil {
				t.Errorf("the command ended with %d, %v", code, err)
			}
			if _, err := box.Exec(c.ctx, []string{"true"}, nil); status.Code(err) != codes.NotFound {
				t.Errorf("a new command: %v", err)
			}
			s.running.Wait()
			if files, err := os.ReadDir(s.dir); err != nil || len(files) > 0 {
				t.Errorf("files left: %v, %v", files, err)
			}
		})
	}
}

func TestIdleSandboxEndsAndABusyOneDoesNot(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	params := &sdk.SandboxCreateParams{Timeout: time.Hour, IdleTimeout: time.Minute}
	idle, busy := c.box(params), c.box(params)
	process, err := busy.Exec(c.ctx, []string{"cat"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Advance(time.Minute)
	if running(s, idle) || !running(s, busy) {
		t.Errorf("idle runs: %v, busy runs: %v", running(s, idle), running(s, busy))
	}
	if err := process.Stdin.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := process.Wait(c.ctx, nil); err != nil {
		t.Fatal(err)
	}
	s.Advance(30 * time.Second)
	if !running(s, busy) {
		t.Error("the time is not counted from the end of the command")
	}
	s.Advance(31 * time.Second)
	if running(s, busy) {
		t.Error("the sandbox was busy, and never ended")
	}
}

func running(s *Server, box *sdk.Sandbox) bool {
	for _, state := range s.Sandboxes() {
		if state.ID == box.SandboxID {
			return state.Running
		}
	}
	return false
}

func TestNameIsUniqueAmongTheRunningOfAnApp(t *testing.T) {
	for name, hold := range map[string]bool{"free at once": false, "held while it polls as running": true} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{PollLag: time.Minute, HoldName: hold})
			c := s.client(t, V2)
			params := &sdk.SandboxCreateParams{Name: "n"}
			first := c.box(params)
			var taken sdk.AlreadyExistsError
			if _, err := c.create(params); !errors.As(err, &taken) {
				t.Errorf("the name of a running sandbox: %v", err)
			}
			if _, err := first.Terminate(c.ctx, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := c.create(params); errors.As(err, &taken) != hold {
				t.Errorf("the name of one just terminated: %v", err)
			}
			s.Advance(time.Minute)
			if hold {
				c.box(params)
			}
		})
	}
}

func TestTerminatedHolderOfANameIsFoundOnRequest(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	box := c.box(&sdk.SandboxCreateParams{Name: "n"})
	if _, err := box.Terminate(c.ctx, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Sandboxes.FromName(c.ctx, "airflow-sandbox", "n", nil); !errors.As(err, new(sdk.NotFoundError)) {
		t.Errorf("among the running: %v", err)
	}
	found, err := c.Sandboxes.FromName(c.ctx, "airflow-sandbox", "n", &sdk.SandboxFromNameParams{IncludeTerminated: true})
	if err != nil || found.SandboxID != box.SandboxID {
		t.Errorf("among all: %v, %v", found, err)
	}
}

func TestTerminateTellsWhetherItHadEndedBefore(t *testing.T) {
	s := start(t, Options{PollLag: time.Hour})
	c := s.client(t, V2)
	box := c.box(nil)
	for i, want := range []pb.GenericResult_GenericStatus{
		pb.GenericResult_GENERIC_STATUS_UNSPECIFIED, pb.GenericResult_GENERIC_STATUS_TERMINATED,
	} {
		reply, err := c.raw().SandboxTerminateV2(c.ctx, pb.SandboxTerminateRequest_builder{SandboxId: box.SandboxID}.Build())
		if err != nil || reply.GetExistingResult().GetStatus() != want {
			t.Errorf("time %d: %v, %v", i+1, reply, err)
		}
	}
}

func TestTerminateOfAnUnknownSandboxAnswersAsTold(t *testing.T) {
	for ok, want := range map[bool]codes.Code{false: codes.NotFound, true: codes.OK} {
		s := start(t, Options{TerminateUnknownOK: ok})
		c := s.client(t, V2)
		c.app()
		_, err := c.raw().SandboxTerminateV2(c.ctx, pb.SandboxTerminateRequest_builder{SandboxId: "sb-x"}.Build())
		if status.Code(err) != want {
			t.Errorf("TerminateUnknownOK %v: %v", ok, err)
		}
	}
}

func TestEndedSandboxIsShuttingDownOrGoneForACommandAsTold(t *testing.T) {
	for _, keep := range []bool{false, true} {
		s := start(t, Options{KeepTaskID: keep, NoSeededAccess: true})
		c := s.client(t, V2)
		box := c.box(nil)
		if _, err := box.Terminate(c.ctx, nil); err != nil {
			t.Fatal(err)
		}
		_, err := box.Exec(c.ctx, []string{"true"}, nil)
		shuttingDown, gone := errors.As(err, new(sdk.ConflictError)), status.Code(err) == codes.NotFound
		if shuttingDown == keep || gone != keep {
			t.Errorf("KeepTaskID %v: %T %v", keep, err, err)
		}
	}
}

func TestStoppedAppEndsItsSandboxesAndTakesNoMore(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	app, box := c.app(), c.box(nil)
	if _, err := c.raw().AppStop(c.ctx, pb.AppStopRequest_builder{AppId: app.AppID}.Build()); err != nil {
		t.Fatal(err)
	}
	if running(s, box) {
		t.Error("its sandbox runs")
	}
	image := c.Images.FromRegistry("python:3.12-slim", nil)
	if _, err := c.Sandboxes.Create(c.ctx, app, image, nil); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("create: %v", err)
	}
	if again := c.app(); again.AppID == app.AppID {
		t.Error("its name still means the stopped app")
	}
}

func TestWhatTheVendorRefusesIsRefused(t *testing.T) {
	s := start(t, Options{MaxTagBytes: 100})
	c := s.client(t, V2)
	app := c.app()
	image, err := c.Images.FromRegistry("python:3.12-slim", nil).Build(c.ctx, app, nil)
	if err != nil {
		t.Fatal(err)
	}
	access := func(kind pb.NetworkAccess_NetworkAccessType, cidrs ...string) *pb.NetworkAccess {
		return pb.NetworkAccess_builder{NetworkAccessType: kind, AllowedCidrs: cidrs}.Build()
	}
	for name, test := range map[string]struct {
		change func(definition *pb.Sandbox_builder, request *pb.SandboxCreateV2Request_builder)
		says   string
	}{
		"a GPU on the second generation": {func(d *pb.Sandbox_builder, _ *pb.SandboxCreateV2Request_builder) {
			d.Resources = pb.Resources_builder{GpuConfig: pb.GPUConfig_builder{GpuType: "T4", Count: 1}.Build()}.Build()
		}, "GPUs are not supported"},
		"25 hours":      {func(d *pb.Sandbox_builder, _ *pb.SandboxCreateV2Request_builder) { d.TimeoutSecs = 25 * 3600 }, "24 hours"},
		"no lifetime":   {func(d *pb.Sandbox_builder, _ *pb.SandboxCreateV2Request_builder) { d.TimeoutSecs = 0 }, "24 hours"},
		"65 characters": {func(d *pb.Sandbox_builder, _ *pb.SandboxCreateV2Request_builder) { *d.Name = strings.Repeat("n", 65) }, "at most 64"},
		"IPv6": {func(d *pb.Sandbox_builder, _ *pb.SandboxCreateV2Request_builder) {
			d.NetworkAccess = access(pb.NetworkAccess_ALLOWLIST, "2001:db8::/32")
		}, "Invalid CIDR (outbound IPv4): 2001:db8::/32: IPv6 CIDRs are not supported"},
		"no CIDR": {func(d *pb.Sandbox_builder, _ *pb.SandboxCreateV2Request_builder) {
			d.NetworkAccess = access(pb.NetworkAccess_ALLOWLIST, "10.0.0.0")
		}, "Invalid CIDR (outbound IPv4): 10.0.0.0"},
		"block with an allowlist": {func(d *pb.Sandbox_builder, _ *pb.SandboxCreateV2Request_builder) {
			d.NetworkAccess = access(pb.NetworkAccess_BLOCKED, "10.0.0.0/8")
		}, "cannot be combined"},
		"a long tag": {func(_ *pb.Sandbox_builder, r *pb.SandboxCreateV2Request_builder) {
			r.Tags = tagList(map[string]string{"k": strings.Repeat("v", 101)})
		}, "longer than 100 bytes"},
		"a tag without a name": {func(_ *pb.Sandbox_builder, r *pb.SandboxCreateV2Request_builder) {
			r.Tags = tagList(map[string]string{"": "v"})
		}, "cannot be empty"},
	} {
		t.Run(name, func(t *testing.T) {
			definition := pb.Sandbox_builder{ImageId: image.ImageID, TimeoutSecs: 60, Name: new(string)}
			request := pb.SandboxCreateV2Request_builder{AppId: app.AppID}
			test.change(&definition, &request)
			request.Definition = definition.Build()
			_, err := c.raw().SandboxCreateV2(c.ctx, request.Build())
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v, want InvalidArgument with %q", err, test.says)
			}
		})
	}
	if boxes := s.Sandboxes(); len(boxes) > 0 {
		t.Errorf("sandboxes were made all the same: %v", boxes)
	}
}

func TestGPUMakesASandboxOfTheFirstGeneration(t *testing.T) {
	s := start(t, Options{})
	s.client(t, V2).box(&sdk.SandboxCreateParams{GPU: "T4"})
	if got := s.Sandboxes()[0].Generation; got != V1 {
		t.Errorf("generation %d", got)
	}
}
