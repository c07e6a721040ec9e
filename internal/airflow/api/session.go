// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

// session is the token that the last log-in gave.
type session struct {
	entering sync.Mutex // held during a log-in: of many who need one, one asks
	mu       sync.Mutex
	token    string
}

func (s *session) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

func (s *session) set(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// bearer returns a token other than the one that was refused, logging in when
// there is none.
func (c *Client) bearer(ctx context.Context, refused string) (string, error) {
	if c.options.Token != "" {
		return c.options.Token, nil
	}
	c.session.entering.Lock()
	defer c.session.entering.Unlock()
	if token := c.session.current(); token != refused {
		return token, nil
	}
	// A page of Airflow's documentation calls it jwt_token.
	var reply struct {
		AccessToken string `json:"access_token"`
		JWTToken    string `json:"jwt_token"`
	}
	account := struct {
		Username string `json:"username"`
		Password string `json:"password"`
	}{c.options.Username, c.options.Password}
	login := call{verb: "log in to Airflow", method: http.MethodPost, path: "/auth/token", body: account}
	if err := c.do(ctx, login, "", &reply); err != nil {
		if r, ok := errors.AsType[*refusal](err); ok {
			r.about = theDeployment // without a token no other question can be asked
		}
		return "", err
	}
	token := cmp.Or(reply.AccessToken, reply.JWTToken)
	if token == "" {
		return "", fmt.Errorf("%s: %s%s: %w: the reply has no access_token", login.verb, c.base, login.path, backend.ErrInvalid)
	}
	c.session.set(token)
	return token, nil
}

// theirClock is how far the server's clock was before ours at least, by its last
// reply.
type theirClock struct {
	mu    sync.Mutex
	by    time.Duration
	known bool
}

// dateAge is how old a Date may be: it has no fraction, and the server of Airflow
// (uvicorn) writes it anew once a second.
const dateAge = 2 * time.Second

// note reads the Date of a reply to what was asked at begun.
func (t *theirClock) note(date string, begun, ended time.Time) {
	theirs, err := http.ParseTime(date)
	if err != nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.by, t.known = clock.Apart(theirs, theirs.Add(dateAge), begun, ended), true
}

func (t *theirClock) ahead() (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.by, t.known
}
