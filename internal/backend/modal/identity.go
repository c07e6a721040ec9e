// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// checkWithin bounds a Check, and the look-up that comes first of every other use,
// all attempts included, so that a server that takes calls and answers none is told
// of within seconds.
const checkWithin = 10 * time.Second

// Check looks whose token it is, looks the app up anew, and asks for the time. The
// identity is the workspace's name and the app's id: the same URI exists in every
// account. In another workspace, or without the app, the identity is the workspace
// alone.
func (a *app) Check(ctx context.Context) (backend.Status, error) {
	var status backend.Status
	err := a.promptly(ctx, func(ctx context.Context) (err error) {
		status, err = a.check(ctx)
		return err
	})
	return status, a.failed("check", "", err)
}

// promptly gives a use of the server up after checkWithin.
func (a *app) promptly(ctx context.Context, use func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, a.checkWithin)
	defer cancel()
	err := use(bounded)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil && !hasClass(err) {
		return fmt.Errorf("%w: no answer within %s: %w", backend.ErrUnavailable, a.checkWithin, err)
	}
	return err
}

func (a *app) check(ctx context.Context) (backend.Status, error) {
	s, err := a.lookUp(ctx)
	if err != nil {
		return a.elsewhere(ctx, err), err
	}
	workspace, err := s.workspaceName(ctx)
	if err != nil {
		return backend.Status{}, err
	}
	s.readClock(ctx)
	if err := context.Cause(ctx); err != nil {
		return backend.Status{}, err
	}
	return backend.Status{Identity: workspace + "/" + s.found.AppID}, nil
}

// elsewhere is what is known of a place that is not the right one.
func (a *app) elsewhere(ctx context.Context, err error) backend.Status {
	if other, ok := errors.AsType[*otherWorkspaceError](err); ok {
		return backend.Status{Identity: other.is + "/"}
	}
	c, failed := a.dialed()
	if failed != nil || !errors.Is(err, errNoApp) {
		return backend.Status{}
	}
	workspace, failed := (&session{app: a, rpc: c.stubs()}).workspaceName(ctx)
	if failed != nil {
		return backend.Status{}
	}
	return backend.Status{Identity: workspace + "/"}
}

// assertWorkspace refuses a token of another workspace than the connection
// names.
func (s *session) assertWorkspace(ctx context.Context) error {
	if s.workspace == "" {
		return nil
	}
	workspace, err := s.workspaceName(ctx)
	if err == nil && workspace != s.workspace {
		return &otherWorkspaceError{is: workspace, want: s.workspace}
	}
	return err
}

// otherWorkspaceError is ErrUnauthorized: the token opens another workspace than
// the connection names.
type otherWorkspaceError struct{ is, want string }

func (e *otherWorkspaceError) Error() string {
	return fmt.Sprintf("%v: the token belongs to the workspace %s, but the connection is for the workspace %s; use a token of %s",
		e.Unwrap(), e.is, e.want, e.want)
}

func (e *otherWorkspaceError) Unwrap() error { return backend.ErrUnauthorized }

func (s *session) workspaceName(ctx context.Context) (string, error) {
	reply, err := s.rpc.WorkspaceNameLookup(ctx, &emptypb.Empty{})
	if err != nil {
		return "", classed(err)
	}
	if name := reply.GetUsername(); name != "" { // `modal profile list` shows it as the workspace
		return name, nil
	}
	return "", fmt.Errorf("%w: Modal does not say which workspace the token belongs to", backend.ErrUnavailable)
}
