// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"time"
)

// Caller is a vendor's only way out, one per connection, used at the vendor's
// one choke point. It owns the deadline, the rate limit, Retry-After, the
// retries (Idempotent and ErrUnavailable only), counting and logging.
type Caller struct {
	// Intercept, when set, stands around every attempt; tests put faults there.
	Intercept func(ctx context.Context, call Call, attempt func(context.Context) error) error
	// DefaultDeadline bounds an attempt whose Call has none.
	DefaultDeadline time.Duration
}

// Do makes one call.
func (c *Caller) Do(ctx context.Context, call Call, do func(context.Context) error) error {
	if c.Intercept != nil {
		return c.Intercept(ctx, call, do)
	}
	return do(ctx)
}
