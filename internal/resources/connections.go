// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package resources holds what Terraform sees: the resources, data sources and
// functions of the provider, one file for each. A sandbox_instance is spread
// over files by what Terraform asks of it: plan, create, read, update, delete,
// import.
package resources

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
)

// Connections is what the provider hands to every resource and data source: the
// clock, and each connection it has opened. It lives for one part of a run (a
// plan, or an apply), so nothing it remembers can grow old.
type Connections struct {
	Clock clock.Clock

	options connect.Options
	mu      sync.Mutex
	opened  map[string]*Connection // by canonical URI
	places  map[string]*place      // by location and credentials
}

// NewConnections returns a set in which nothing is open yet.
func NewConnections(clk clock.Clock, options connect.Options) *Connections {
	return &Connections{
		Clock:   clk,
		options: options,
		opened:  map[string]*Connection{},
		places:  map[string]*place{},
	}
}

// Connection is one opened connection.
type Connection struct {
	backend.Connection
	Backend backend.Backend

	*place
}

// place is what connections of the same location and credentials share.
type place struct {
	Snapshot *backend.Snapshot // one listing per run

	mu       sync.Mutex
	checked  bool
	status   backend.Status
	err      error
	prepared bool
	dryRuns  map[string]bool // what is known to succeed
}

// Open parses and opens uri. The same place is opened once in a run.
func (c *Connections) Open(uri string) (*Connection, error) {
	parsed, err := connect.Parse(uri)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.opened[parsed.String()]; ok {
		return known, nil
	}
	b, err := connect.Open(parsed, c.options)
	if err != nil {
		return nil, fmt.Errorf("open connection %q: %w", parsed, err)
	}
	key := parsed.Location() + "\x00" + parsed.CredentialsName()
	shared, ok := c.places[key]
	if !ok {
		shared = &place{Snapshot: backend.NewSnapshot(b)}
		c.places[key] = shared
	}
	opened := &Connection{Connection: parsed, Backend: b, place: shared}
	c.opened[parsed.String()] = opened
	return opened, nil
}

// openAttribute opens what the attribute connection_uri holds; nil: it cannot be
// opened, and diags tell why.
func (c *Connections) openAttribute(uri types.String, diags *diag.Diagnostics) *Connection {
	conn, err := c.Open(uri.ValueString())
	if err != nil {
		diags.AddAttributeError(path.Root("connection_uri"), "Connection cannot be opened", err.Error())
		return nil
	}
	return conn
}

// Prepare makes what must exist before the first sandbox of this place, once in
// a run.
func (c *Connection) Prepare(ctx context.Context) error {
	preparer, ok := c.Backend.(backend.Preparer)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prepared {
		return nil
	}
	if err := preparer.Prepare(ctx); err != nil {
		return err // which names the attempt and the place
	}
	c.prepared, c.checked = true, false
	return nil
}

// Check asks the place who it is and whether it works. The answer, good or bad,
// is kept for the run, so that a thousand reads do not each wait for the same
// deadline. An answer cut short by ctx is not kept.
func (c *Connection) Check(ctx context.Context) (backend.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.checked {
		return c.status, c.err
	}
	status, err := c.Backend.Check(ctx)
	if ctx.Err() == nil {
		c.checked, c.status, c.err = true, status, err
	}
	return status, err
}

// Witness verifies that the place is the one that recorded the identity want,
// and returns the identity it has now. Only after it may "not found" be
// believed: the same URI exists on every machine and in every account.
func (c *Connection) Witness(ctx context.Context, want string) (string, error) {
	status, err := c.Check(ctx)
	switch {
	case err != nil && want != "" && status.Identity != "":
		return "", fmt.Errorf("%w (this is %q, and the state was made at %q)", err, status.Identity, want)
	case err != nil:
		return "", err
	}
	if want != "" && status.Identity != want {
		return "", &otherPlaceError{connection: c.Connection, want: want, got: status.Identity}
	}
	return status.Identity, nil
}

// otherPlaceError: the connection leads somewhere else than it did.
type otherPlaceError struct {
	connection backend.Connection
	want, got  string
}

func (e *otherPlaceError) Error() string {
	return fmt.Sprintf("connection %q now reaches %q, but the state was made at %q. "+
		"This is another machine, account or state directory; nothing is known about the recorded one. "+
		"Run Terraform where that place can be reached. If it is lost for good, remove the resource "+
		"from the state with `terraform state rm`.", e.connection, e.got, e.want)
}

// addError reports err at the head of a sentence that says what was attempted,
// and adds what to do next where the class of error tells.
func addError(diags *diag.Diagnostics, attempt string, err error) {
	detail := err.Error()
	if advice := advise(err); advice != "" {
		detail += "\n\n" + advice
	}
	diags.AddError(attempt, detail)
}

// advise says what a person can do about a class of error.
func advise(err error) string {
	switch {
	case errors.Is(err, backend.ErrUnauthorized):
		return "Nothing was concluded from this. Check the credentials of this connection and run again."
	case errors.Is(err, backend.ErrUnavailable):
		return "Nothing was concluded from this. Settle what is said above, or wait until it has passed; then run again."
	case errors.Is(err, context.DeadlineExceeded):
		return "The time allowed by timeouts ran out. Raise it, or run again."
	}
	return ""
}
