// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
)

// checked is a backend that counts its checks, and says who it is.
type checked struct {
	backend.Backend
	identity string
	err      error
	mu       sync.Mutex
	checks   int
}

func (c *checked) Check(context.Context) (backend.Status, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checks++
	return backend.Status{Identity: c.identity}, c.err
}

func TestOnePlaceIsCheckedOnceForAThousandReads(t *testing.T) {
	for name, err := range map[string]error{"well": nil, "broken": backend.ErrUnavailable} {
		t.Run(name, func(t *testing.T) {
			b := &checked{identity: "here", err: err}
			conn := opened(t, "local:", b)
			var readers sync.WaitGroup
			for range 1000 {
				readers.Go(func() {
					if _, got := conn.Witness(t.Context(), "here"); !errors.Is(got, err) {
						t.Errorf("got %v, want %v", got, err)
					}
				})
			}
			readers.Wait()
			if b.checks != 1 {
				t.Errorf("checked %d times", b.checks)
			}
		})
	}
}

func TestACheckThatItsReaderGaveUpIsNotRemembered(t *testing.T) {
	b := &checked{err: context.Canceled}
	conn := opened(t, "local:", b)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := conn.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.err = nil
	if _, err := conn.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAnotherPlaceIsAnErrorThatNamesBoth(t *testing.T) {
	conn := opened(t, "local:", &checked{identity: "there"})
	_, err := conn.Witness(t.Context(), "here")
	if err == nil || !strings.Contains(err.Error(), `"here"`) || !strings.Contains(err.Error(), `"there"`) {
		t.Errorf("said %v", err)
	}
	if identity, err := conn.Witness(t.Context(), ""); err != nil || identity != "there" {
		t.Errorf("nothing was recorded, and yet: %q, %v", identity, err)
	}
}

func TestConnectionsOfOneLocationShareOneListing(t *testing.T) {
	connections := NewConnections(clock.System(), connect.Options{})
	open := func(uri string) *Connection {
		t.Helper()
		conn, err := connections.Open(uri)
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	plain, again := open("local:///a"), open("local:///a")
	settings, other := open("local:///a?deployment=prod"), open("local:///b")
	if plain != again {
		t.Error("the same connection was opened twice")
	}
	if plain == settings || plain.Snapshot != settings.Snapshot || settings.Deployment() != "prod" {
		t.Error("other settings of the same place do not share its listing")
	}
	if plain.Snapshot == other.Snapshot {
		t.Error("two places share a listing")
	}
}

func TestEveryClassOfErrorIsToldWithWhatToDo(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		says string
	}{
		"a place that does not answer": {backend.ErrUnavailable, "wait until it has passed"},
		"an app that is not there":     {fmt.Errorf("%w: there is no such app", backend.ErrUnavailable), "Settle what is said above"},
		"a wrong token":                {backend.ErrUnauthorized, "Check the credentials"},
		"a timeout":                    {context.DeadlineExceeded, "Raise it"},
	} {
		t.Run(name, func(t *testing.T) {
			var diags diag.Diagnostics
			addError(&diags, "Sandbox was not read", tc.err)
			if got := diags[0].Detail(); !strings.HasPrefix(got, tc.err.Error()) || !strings.Contains(got, tc.says) || !strings.Contains(got, "run again") {
				t.Errorf("said %q, want %q", got, tc.says)
			}
		})
	}
}
