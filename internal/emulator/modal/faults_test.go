// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestLostReplyOfACreateEndsAsTheServerDeDuplicates(t *testing.T) {
	for name, test := range map[string]struct {
		fault  Fault
		replay bool
		named  bool
		made   int
		taken  bool
	}{
		"before the effect":              {Fault{Code: codes.Unavailable}, false, true, 1, false},
		"after it, named":                {Fault{Code: codes.Unavailable, After: true}, false, true, 1, true},
		"after it, unnamed":              {Fault{Code: codes.Unavailable, After: true}, false, false, 2, false},
		"after it, named, replayed":      {Fault{Code: codes.Unavailable, After: true}, true, true, 1, false},
		"after it, unnamed, replayed":    {Fault{Code: codes.Unavailable, After: true}, true, false, 1, false},
		"before the effect and replayed": {Fault{Code: codes.Unavailable}, true, false, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Options{ReplayCreates: test.replay})
			c := s.client(t, V2)
			s.Fail("SandboxCreateV2", test.fault)
			params := &sdk.SandboxCreateParams{}
			if test.named {
				params.Name = "n"
			}
			_, err := c.create(params)
			if errors.As(err, new(sdk.AlreadyExistsError)) != test.taken || err != nil && !test.taken {
				t.Errorf("create: %v", err)
			}
			if got := len(s.Sandboxes()); got != test.made {
				t.Errorf("%d sandboxes, want %d", got, test.made)
			}
			if got := s.Calls()["SandboxCreateV2"]; got != 2 {
				t.Errorf("%d calls, want 2", got)
			}
		})
	}
}

func TestFaultsHitTheCallsTheyAreMeantFor(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	c.app()
	get := func() codes.Code {
		_, err := c.raw().EnvironmentList(c.ctx, nil)
		return status.Code(err)
	}
	s.Fail("EnvironmentList", Fault{Code: codes.PermissionDenied, Skip: 1, Times: 2})
	s.Fail("EnvironmentList", Fault{Code: codes.NotFound})
	s.Fail("AppList", Fault{Code: codes.NotFound})
	for i, want := range []codes.Code{codes.OK, codes.PermissionDenied, codes.PermissionDenied, codes.NotFound, codes.OK} {
		if got := get(); got != want {
			t.Errorf("call %d: %v, want %v", i+1, got, want)
		}
	}
	s.Fail("EnvironmentList", Fault{Code: codes.PermissionDenied, Times: -1})
	for range 3 {
		if got := get(); got != codes.PermissionDenied {
			t.Errorf("for ever: %v", got)
		}
	}
	s.Heal()
	if got := get(); got != codes.OK {
		t.Errorf("healed: %v", got)
	}
	s.Fail("EnvironmentList", Fault{Code: codes.PermissionDenied, Times: -1, Workspace: "another"})
	if got := get(); got != codes.OK {
		t.Errorf("a fault of another workspace: %v", got)
	}
	heal := s.Fail("EnvironmentList", Fault{Code: codes.NotFound, Times: -1, Workspace: s.opts.Workspace})
	if got := get(); got != codes.NotFound {
		t.Errorf("a fault of this workspace: %v", got)
	}
	heal()
	if got := get(); got != codes.OK {
		t.Errorf("healed alone: %v", got)
	}
}

func TestStalledCallEndsWithItsCaller(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	c.app()
	for _, after := range []bool{false, true} {
		s.Fail("AppGetOrCreate", Fault{Stall: true, After: after})
		ctx, cancel := context.WithTimeout(c.ctx, 50*time.Millisecond)
		_, err := c.Apps.FromName(ctx, "stalled", &sdk.AppFromNameParams{CreateIfMissing: true})
		cancel()
		if status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("After %v: %v", after, err)
		}
		if _, err := c.Apps.FromName(c.ctx, "stalled", nil); (err == nil) != after {
			t.Errorf("After %v: the app: %v", after, err)
		}
	}
}

func TestCutListEndsEarly(t *testing.T) {
	s := frozen(t, Options{PageSize: 2})
	seed(t, s, 5, nil)
	c := s.client(t, V2)
	c.app()
	s.Fail("SandboxListV2", Fault{Cut: true, Skip: 1})
	if got := c.pages(&pb.SandboxListRequest{}, true); len(got) != 2 || len(got[0]) != 2 {
		t.Errorf("pages %v", got)
	}
	s.Fail("SandboxListV2", Fault{Cut: true, Keep: 1})
	if got := c.pages(&pb.SandboxListRequest{}, true); len(got) != 4 || len(got[0]) != 1 {
		t.Errorf("pages %v", got)
	}
}

func TestEachCallOfTheControlPlaneTakesTheLatencyAtLeast(t *testing.T) {
	s := start(t, Options{Latency: 100 * time.Millisecond})
	c := s.client(t, V2)
	c.app()
	ctx, cancel := context.WithTimeout(c.ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := c.raw().EnvironmentList(ctx, nil); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v", err)
	}
}
