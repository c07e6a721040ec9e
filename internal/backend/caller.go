// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/sethvargo/go-retry"
	"golang.org/x/time/rate"
)

// What a Caller does unless it is told otherwise.
const (
	defaultDeadline   = time.Minute
	defaultMaxRetries = 3
	defaultMinWait    = 250 * time.Millisecond
	defaultMaxWait    = 30 * time.Second
	jitterPercent     = 20
)

// Call describes one call to a vendor.
type Call struct {
	Verb       string        // such as "list" or "destroy"
	Idempotent bool          // may be tried again, also when it took effect
	Deadline   time.Duration // of one attempt; 0: the Caller's default
}

// Caller is a vendor's only way out, one per connection, used at the vendor's
// one choke point. It owns the deadline, the rate limit, Retry-After, the
// retries, counting and logging. The zero value is ready for use; the fields
// are set before the first call. It is safe for concurrent use.
type Caller struct {
	// Intercept, when set, stands around every attempt; tests put faults there.
	Intercept func(ctx context.Context, call Call, attempt func(context.Context) error) error
	// DefaultDeadline bounds an attempt whose Call has none; 0: one minute.
	DefaultDeadline time.Duration
	// Limiter spaces the attempts of all calls; nil: no limit.
	Limiter *rate.Limiter
	// MaxRetries is how often a call is tried again; 0: three times, -1: never.
	MaxRetries int
	// MinWait is the wait before the second attempt, from which the waits double
	// up to MaxWait; 0: 250 ms and 30 s. A vendor that asks for more than MaxWait
	// is not called again.
	MinWait, MaxWait time.Duration

	mu     sync.Mutex
	counts map[string]int
}

// Do makes one call, and makes it again while it is Idempotent and ends in
// ErrUnavailable. What do returns carries its class already. A deadline that
// ends an attempt makes it ErrUnavailable; where the call is not Idempotent, an
// attempt that ends without an answer is ErrUnknownOutcome.
func (c *Caller) Do(ctx context.Context, call Call, do func(context.Context) error) error {
	var last error
	err := retry.Do(ctx, c.waits(&last), func(ctx context.Context) error {
		if err := c.wait(ctx); err != nil {
			return afterAttempt(err, last)
		}
		last = c.attempt(ctx, call, do)
		if call.Idempotent && errors.Is(last, ErrUnavailable) {
			return retry.RetryableError(last)
		}
		return last
	})
	if ended := context.Cause(ctx); ended != nil && errors.Is(err, ended) {
		return afterAttempt(err, last) // go-retry keeps only the context's cause
	}
	return err
}

// Counts returns how many attempts were made, by verb.
func (c *Caller) Counts() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.counts)
}

// attempt makes the call once, within its deadline.
func (c *Caller) attempt(ctx context.Context, call Call, do func(context.Context) error) error {
	deadline := cmp.Or(call.Deadline, c.DefaultDeadline, defaultDeadline)
	attemptCtx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()

	n := c.count(call.Verb)
	var err error
	if c.Intercept != nil {
		err = c.Intercept(attemptCtx, call, do)
	} else {
		err = do(attemptCtx)
	}
	slog.DebugContext(ctx, "backend call", "verb", call.Verb, "number", n, "error", err)

	if err == nil || attemptCtx.Err() == nil || answered(call, err) {
		return err
	}
	return unanswered(ctx, call, deadline, err)
}

// answered reports whether err is an answer of the vendor, although the context
// has ended meanwhile.
func answered(call Call, err error) bool {
	if errors.Is(err, ErrUnavailable) {
		return call.Idempotent
	}
	for _, class := range classes {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// unanswered gives the error of an attempt that its context ended a class.
func unanswered(ctx context.Context, call Call, deadline time.Duration, err error) error {
	switch gaveUp := ctx.Err() != nil; {
	case gaveUp && call.Idempotent:
		return err
	case gaveUp:
		return fmt.Errorf("%s: %w: given up before the answer: %w", call.Verb, ErrUnknownOutcome, err)
	case call.Idempotent:
		return fmt.Errorf("%s: %w: no answer within %s: %v", call.Verb, ErrUnavailable, deadline, err)
	default:
		return fmt.Errorf("%s: %w: no answer within %s: %v", call.Verb, ErrUnknownOutcome, deadline, err)
	}
}

func (c *Caller) count(verb string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = make(map[string]int)
	}
	c.counts[verb]++
	return c.counts[verb]
}

// wait waits for the rate limit.
func (c *Caller) wait(ctx context.Context) error {
	if c.Limiter == nil {
		return nil
	}
	if err := c.Limiter.Wait(ctx); err != nil {
		return fmt.Errorf("wait for the rate limit: %w", err)
	}
	return nil
}

// waits returns the waits between the attempts of one call, whose latest error
// is in last: growing, bounded, and never shorter than the vendor asks for.
func (c *Caller) waits(last *error) retry.Backoff {
	retries := cmp.Or(c.MaxRetries, defaultMaxRetries)
	longest := cmp.Or(c.MaxWait, defaultMaxWait)

	waits := retry.WithCappedDuration(longest, retry.NewExponential(cmp.Or(c.MinWait, defaultMinWait)))
	waits = retry.WithJitterPercent(jitterPercent, waits)
	waits = retry.WithMaxRetries(uint64(max(retries, 0)), waits)
	return retry.BackoffFunc(func() (time.Duration, bool) {
		next, stop := waits.Next()
		if asked, ok := errors.AsType[*RetryAfterError](*last); ok {
			next, stop = max(next, asked.After), stop || asked.After > longest
		}
		return next, stop
	})
}

// afterAttempt adds what the last attempt said to why there was no other one.
func afterAttempt(err, last error) error {
	switch {
	case last == nil:
		return err
	case errors.Is(last, err):
		return last
	}
	return fmt.Errorf("%w (last attempt: %w)", err, last)
}
