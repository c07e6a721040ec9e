// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"golang.org/x/sync/singleflight"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// findLag is a guess: nobody has measured it.
const findLag = 5 * time.Second

// app is one Modal app. Nothing is reached, and no file or variable is read,
// before the first call.
type app struct {
	scope       string
	environment string
	name        string
	workspace   string // asserted; empty: any
	sni         bool
	credentials backend.Credentials
	caller      *backend.Caller
	clock       clock.Clock
	memory      *memory
	server      *serverClock
	// findLag is how long a create whose caller has left may be on its way.
	findLag     time.Duration
	checkWithin time.Duration
	startWithin time.Duration

	looking singleflight.Group // so that one look-up serves all who wait for it
	mu      sync.Mutex
	client  *client  // nil: not made yet
	inside  *session // nil: not looked up yet
	// builder is the version of Modal's image builder; empty: not asked yet.
	builder string
}

// session is the app as one look-up has found it.
type session struct {
	*app
	sdk   *sdk.Client
	rpc   pb.ModalClientClient // the stubs, over the client's own connection
	found *sdk.App
	at    time.Time // of the look-up
}

func open(conn backend.Connection, credentials backend.Credentials, caller *backend.Caller) (backend.Backend, error) {
	return newApp(conn, credentials, caller, clock.System()), nil
}

func newApp(conn backend.Connection, credentials backend.Credentials, caller *backend.Caller, clk clock.Clock) *app {
	a := &app{
		scope:       scope(conn),
		environment: defaultEnvironment,
		name:        defaultApp,
		workspace:   conn.Settings.Get(settingWorkspace),
		sni:         conn.Settings.Get(settingEgress) == egressSNI,
		credentials: credentials,
		caller:      caller,
		clock:       clk,
		memory:      newMemory(),
		server:      &serverClock{ours: clk},
		findLag:     findLag,
		checkWithin: checkWithin,
		startWithin: startWithin,
	}
	if conn.Authority != "" {
		a.environment, a.name = conn.Authority, strings.TrimPrefix(conn.Path, "/")
	}
	return a
}

// Scope is the location, with the credentials if they have a name: the same
// location lies in every workspace. In which one only a call can tell; that is the
// identity, which Check reports.
func (a *app) Scope() string { return a.scope }

func scope(conn backend.Connection) string {
	if name := conn.CredentialsName(); name != "" {
		return conn.Location() + "?credentials=" + name
	}
	return conn.Location()
}

// Prepare makes the app where it is missing. It makes no environment: those
// carry permissions and budgets, and are for their owner to make.
func (a *app) Prepare(ctx context.Context) error {
	_, err := a.lookUp(ctx)
	if !errors.Is(err, errNoApp) {
		return a.failed("prepare", "", err)
	}
	err = a.promptly(ctx, func(ctx context.Context) error {
		c, err := a.dialed()
		if err == nil {
			_, err = c.Apps.FromName(ctx, a.name, &sdk.AppFromNameParams{Environment: a.environment, CreateIfMissing: true})
		}
		return err
	})
	if err = classed(err); errors.Is(err, backend.ErrNotFound) {
		err = fmt.Errorf("%w: there is no environment %s in this workspace; create it, or name another one", backend.ErrInvalid, a.environment)
	}
	if err == nil {
		_, err = a.lookUp(ctx)
	}
	return a.failed("prepare", "", err)
}

// enter returns the session, and looks the app up the first time. Whoever gives up
// meanwhile leaves the look-up to the others.
func (a *app) enter(ctx context.Context) (*session, error) {
	if s := a.entered(); s != nil {
		return s, nil
	}
	found := a.looking.DoChan(a.name, func() (any, error) { return a.lookUp(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case result := <-found:
		s, _ := result.Val.(*session)
		return s, result.Err
	}
}

// freshFor is how long a listing may trust a look-up, such as the Check before it.
const freshFor = time.Minute

// enterAnew looks the app up again unless that was done just now, so that a
// process that stays for weeks does not list an app that was replaced.
func (a *app) enterAnew(ctx context.Context) (*session, error) {
	if s := a.entered(); s != nil && a.clock.Now().Sub(s.at) < freshFor {
		return s, nil
	}
	return a.lookUp(ctx)
}

func (a *app) entered() *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.inside
}

// errNoApp is not ErrNotFound: that an app is missing proves nothing about a
// sandbox.
var errNoApp = errors.New("there is no such app")

// lookUp finds the app anew: one that was stopped and made again is another app
// of the same name. It also is the first call of every client, and so the one
// that hands over the connection.
func (a *app) lookUp(ctx context.Context) (s *session, err error) {
	err = a.promptly(ctx, func(ctx context.Context) error {
		s, err = a.findApp(ctx)
		return err
	})
	return s, err
}

func (a *app) findApp(ctx context.Context) (*session, error) {
	c, err := a.dialed()
	if err != nil {
		return nil, err
	}
	found, missing := c.Apps.FromName(ctx, a.name, &sdk.AppFromNameParams{Environment: a.environment})
	if missing = classed(missing); missing != nil && !errors.Is(missing, backend.ErrNotFound) {
		return nil, missing
	}
	s := &session{app: a, sdk: c.Client, rpc: c.stubs()}
	if err := s.assertWorkspace(ctx); err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, fmt.Errorf("%w: %w: no app %s in the environment %s of this workspace; `terraform apply` makes the app, not the "+
			"environment. If there were sandboxes in it, look at the token, the environment and the app's name",
			backend.ErrUnavailable, errNoApp, a.name, a.environment)
	}
	if found.AppID == "" { // a list without it is one of the whole environment
		return nil, fmt.Errorf("%w: Modal does not say which app %s is", backend.ErrUnavailable, a.name)
	}
	s.found, s.at = found, a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.inside = s
	return s, nil
}

// dialed returns the client, which is made at the first call.
func (a *app) dialed() (*client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.client == nil {
		made, err := dial(a.credentials, a.environment, a.caller, a.server)
		if err != nil {
			return nil, err
		}
		a.client = made
	}
	return a.client, nil
}

// failed says what was attempted on which sandbox and where.
func (a *app) failed(attempt, handle string, err error) error {
	if err == nil {
		return nil
	}
	if handle != "" {
		attempt += " " + handle
	}
	err = fmt.Errorf("%s on %q: %w", attempt, a.Scope(), classed(err))
	if server := os.Getenv(serverURL); server != "" && handle == "" && !errors.Is(err, errNoApp) &&
		(errors.Is(err, backend.ErrUnavailable) || errors.Is(err, errConfiguration)) {
		server = server[strings.LastIndex(server, "@")+1:] // without a password
		err = fmt.Errorf("%w. %s is %s", err, serverURL, server)
	}
	return err
}

// serverURL is the variable that tells Modal's client where its server is; unset:
// at Modal.
const serverURL = "MODAL_SERVER_URL"
