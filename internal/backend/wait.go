// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sethvargo/go-retry"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// How often a change that takes a while is looked for.
const (
	firstPoll   = 100 * time.Millisecond
	longestPoll = 5 * time.Second

	defaultWaitGone = time.Minute
)

// WaitGone returns nil once the sandbox is definitely gone: not found by id, or
// ended. It waits until ctx ends; a ctx without a deadline waits as long as the
// backend's WaitGoneTimeout. The error then says what was seen last.
func WaitGone(ctx context.Context, b Backend, ref sandbox.Ref) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmp.Or(b.Capabilities().WaitGoneTimeout, defaultWaitGone))
		defer cancel()
	}
	last := "it was never looked at"
	for waits := pollWaits(); ; {
		s, err := b.Get(ctx, ref)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && s.State == sandbox.Ended:
			return nil
		case err == nil:
			last = "last seen " + s.State.String()
		case errors.Is(err, ErrUnavailable):
			last = "last answer: " + err.Error()
		case ctx.Err() == nil:
			return fmt.Errorf("wait until sandbox %s on %q is gone: %w", ref.Handle, b.Scope(), err)
		}
		if err := pause(ctx, waits); err != nil {
			return fmt.Errorf("wait until sandbox %s on %q is gone: %w (%s)", ref.Handle, b.Scope(), err, last)
		}
	}
}

// pollWaits returns growing waits between looks.
func pollWaits() retry.Backoff {
	return retry.WithCappedDuration(longestPoll, retry.NewExponential(firstPoll))
}

// pause waits for the next of waits, or returns the cause when ctx ends first.
func pause(ctx context.Context, waits retry.Backoff) error {
	next, _ := waits.Next()
	return Pause(ctx, next)
}

// Pause waits for d, or returns the cause when ctx ends first.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
