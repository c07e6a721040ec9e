// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestAnotherAccountAtTheSameAddressProvesNothing(t *testing.T) {
	home := newLab(dead("ours"), alive("alive"))
	home.who = "acme/1"
	home.onDestroy = func(context.Context, sandbox.Ref) error { return errors.New("denied") }
	opts := enforcing(home)
	expect(t, "at home", said(sweep(t, opts)), []string{"ours failed"})

	elsewhere := newLab(dead("theirs"))
	elsewhere.who = "other/7"
	opts.Connections[0].Backend = elsewhere
	opts.advance(10 * time.Minute)
	result := sweep(t, opts)
	expect(t, "elsewhere", said(result), nil)
	refused := strings.Join(result.Connections[0].Refused, "")
	if result.Exit != ExitRefused || !strings.Contains(refused, "acme/1") || !strings.Contains(refused, "other/7") {
		t.Errorf("exit %d, refused %q", result.Exit, refused)
	}

	opts.Connections[0].Backend = home
	home.onDestroy = nil
	opts.advance(10 * time.Minute)
	result = sweep(t, opts)
	expect(t, "at home again", said(result), []string{"ours reclaimed"})
	if action := result.Connections[0].Actions[0]; action.Attempt != 2 {
		t.Errorf("the first attempt is forgotten: %+v", action)
	}
}

func TestAPlaceThatMovedStartsOverOnceAPersonAccepts(t *testing.T) {
	old := newLab(dead("ours"), alive("alive"))
	old.who = "acme/1"
	old.onDestroy = func(context.Context, sandbox.Ref) error { return errors.New("denied") }
	opts := enforcing(old)
	sweep(t, opts)
	moved := newLab(dead("theirs"))
	moved.who = "acme/2"
	opts.Connections[0].Backend = moved
	opts.Connections[0].Policy.Accept = sweep(t, opts).Connections[0].Token
	expect(t, "accepted", said(sweep(t, opts)), []string{"theirs reclaimed"})
	opts.Connections[0].Policy.Accept = ""
	if result := sweep(t, opts); result.Exit != ExitClean {
		t.Errorf("the next run: exit %d, %+v", result.Exit, result.Connections)
	}
}

// unsure may not say who it is.
type unsure struct {
	*lab

	status backend.Status
	err    error
}

func (u unsure) Check(context.Context) (backend.Status, error) { return u.status, u.err }

func TestWhoAnswersIsFoundOutBeforeAnythingIsListed(t *testing.T) {
	for _, c := range []struct {
		name   string
		status backend.Status
		err    error
		exit   Exit
	}{
		{"nobody can be reached", backend.Status{}, backend.ErrUnavailable, ExitUnreadable},
		{"it does not say", backend.Status{}, nil, ExitUnreadable},
		{"it says so", backend.Status{Identity: "acme/1"}, nil, ExitClean},
	} {
		l := newLab(dead("ours"))
		l.who = "acme/1"
		opts := enforcing(l)
		opts.Connections[0].Backend = unsure{l, c.status, c.err}
		if result := sweep(t, opts); result.Exit != c.exit || (len(l.asked) > 0) != (c.exit == ExitClean) {
			t.Errorf("%s: exit %d, asked %q, %s", c.name, result.Exit, l.asked, result.Connections[0].Look.Error)
		}
	}
}
