// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

const (
	callDeadline  = 30 * time.Second
	maxReplyBytes = 64 << 20
)

// call is one call of the API. All of them only read, or log in: each may be made
// again.
type call struct {
	verb   string // what is attempted, for a person
	method string
	path   string // below the base, escaped
	body   any    // nil: none
}

// ask makes a call as the account and decodes the reply. A token that has come
// from a log-in and is refused is replaced once.
func (c *Client) ask(ctx context.Context, call call, reply any) error {
	token, err := c.bearer(ctx, "")
	if err != nil {
		return err
	}
	err = c.do(ctx, call, token, reply)
	if c.options.Token != "" || !mayBeTheToken(call, err) {
		return err
	}
	if token, err = c.bearer(ctx, token); err != nil {
		return err
	}
	return c.do(ctx, call, token, reply)
}

// mayBeTheToken reports whether a call may have failed for its token alone. Some
// versions do not tell a token that they have not signed from an account that may
// not read; of a list, either is the end of the asking.
func mayBeTheToken(call call, err error) bool {
	return isAbout(err, theToken) || call.method == http.MethodPost && isAbout(err, theRole)
}

// do makes a call with a token and decodes the reply.
func (c *Client) do(ctx context.Context, call call, token string, reply any) error {
	var content []byte
	if call.body != nil {
		var err error
		if content, err = json.Marshal(call.body); err != nil {
			return fmt.Errorf("%s: %w: %w", call.verb, backend.ErrInvalid, err)
		}
	}
	err := c.caller.Do(ctx, backend.Call{Verb: call.verb, Idempotent: true, Deadline: callDeadline}, func(ctx context.Context) error {
		return c.attempt(ctx, call, token, content, reply)
	})
	if err != nil {
		return fmt.Errorf("%s: %s %s: %w", call.verb, call.method, c.base+call.path, err)
	}
	return nil
}

func (c *Client) attempt(ctx context.Context, call call, token string, content []byte, reply any) error {
	request, err := http.NewRequestWithContext(ctx, call.method, c.base+call.path, bytes.NewReader(content))
	if err != nil {
		return fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	begun := c.options.Clock.Now()
	response, err := c.http.Do(request)
	if err != nil {
		return notReached(ctx, err)
	}
	defer response.Body.Close()
	c.theirs.note(response.Header.Get("Date"), begun, c.options.Clock.Now())
	said, err := io.ReadAll(io.LimitReader(response.Body, maxReplyBytes+1))
	if err != nil {
		return notReached(ctx, err)
	}
	if refusal := c.refused(response, said); refusal != nil {
		return refusal
	}
	return decode(said, reply)
}

// decode reads a reply that is said to be JSON.
func decode(said []byte, reply any) error {
	if len(said) > maxReplyBytes {
		return fmt.Errorf("%w: the reply is longer than %d MiB", backend.ErrTooLarge, maxReplyBytes>>20)
	}
	if err := json.Unmarshal(said, reply); err != nil {
		return fmt.Errorf("%w: the reply is not what Airflow's API v2 replies: %w", backend.ErrInvalid, err)
	}
	return nil
}
