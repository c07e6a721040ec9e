// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// connection is a place that is open.
type connection struct {
	backend.Backend
	uri string
}

func open(uri string) (connection, error) {
	parsed, err := connect.Parse(uri)
	if err != nil {
		return connection{}, cli.Usage("connection: %w", err)
	}
	b, err := connect.Open(parsed, connect.Options{})
	if err != nil {
		return connection{}, &located{fmt.Errorf("open %q: %w", parsed, err), parsed.String(), ""}
	}
	return connection{b, parsed.String()}, nil
}

// openAndFind reads the sandbox of two arguments, CONNECTION and HANDLE.
func openAndFind(ctx context.Context, arguments []string) (connection, sandbox.Sandbox, error) {
	conn, err := open(arguments[0])
	if err != nil {
		return connection{}, sandbox.Sandbox{}, err
	}
	s, err := conn.find(ctx, arguments[1])
	return conn, s, err
}

// at says where err happened; nil stays nil.
func (conn connection) at(handle string, err error) error {
	if err == nil {
		return nil
	}
	return &located{err, conn.uri, handle}
}

// refuse is at for what we say, and not the backend.
func (conn connection) refuse(attempt, handle string, err error) error {
	return conn.at(handle, fmt.Errorf("%s %s on %q: %w", attempt, handle, conn.uri, err))
}

// find reads the sandbox whose handle is, or alone begins with, given.
func (conn connection) find(ctx context.Context, given string) (sandbox.Sandbox, error) {
	if given == "" {
		return sandbox.Sandbox{}, cli.Usage("the handle is empty")
	}
	exact, err := conn.Get(ctx, sandbox.Ref{Handle: given})
	if err == nil {
		return exact, nil
	}
	// An unreadable record can only be listed, and a beginning need not be well
	// formed as a handle.
	if !errors.Is(err, backend.ErrNotFound) && !errors.Is(err, backend.ErrInvalid) {
		return sandbox.Sandbox{}, conn.at(given, err)
	}
	var found []sandbox.Sandbox
	for s, listErr := range conn.List(ctx) {
		if listErr != nil {
			return sandbox.Sandbox{}, conn.at(given, fmt.Errorf("%w; nor could others be looked through: %w", err, listErr))
		}
		if s.Handle == given {
			return s, nil
		}
		if strings.HasPrefix(s.Handle, given) {
			found = append(found, s)
		}
	}
	switch len(found) {
	case 0:
		return sandbox.Sandbox{}, conn.at(given, err)
	case 1:
		return found[0], nil
	}
	handles := make([]string, len(found))
	for i, s := range found {
		handles[i] = s.Handle
	}
	return sandbox.Sandbox{}, cli.UsageError{
		Err:  fmt.Errorf("%q on %q may be any of %s", given, conn.uri, strings.Join(handles, ", ")),
		Next: "write more of the handle",
	}
}
