// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// SetTags replaces the tags.
func (h *host) SetTags(ctx context.Context, ref sandbox.Ref, tags sandbox.Tags) error {
	return h.edit(ctx, "set-tags", "set the tags of sandbox", ref, func(rec *record) error {
		rec.Tags = tags.Clone()
		return nil
	})
}

// EditTags edits the tags while nobody else can.
func (h *host) EditTags(ctx context.Context, ref sandbox.Ref, edit func(sandbox.Tags)) error {
	return h.do(ctx, read("edit-tags"), func(ctx context.Context, st *state) error {
		return st.change(ctx, ref, func(rec *record) error {
			rec.Tags = rec.Tags.Clone()
			edit(rec.Tags)
			return nil
		})
	})
}

// Renew moves the end to until, unless it is later already.
func (h *host) Renew(ctx context.Context, ref sandbox.Ref, until time.Time) (time.Time, error) {
	var end time.Time
	err := h.edit(ctx, "renew", "renew sandbox", ref, func(rec *record) error {
		if err := h.usable(*rec); err != nil {
			return err
		}
		if left := until.Sub(h.clock.Now()); left > lifetimeMax {
			return fmt.Errorf("%w: %s from now is longer than %s", backend.ErrInvalid, left.Round(time.Second), lifetimeMax)
		}
		if until.After(rec.ExpiresAt) {
			rec.ExpiresAt = until.UTC()
		}
		end = rec.ExpiresAt
		return nil
	})
	return end, err
}

// Network reads what the next command will get. It can be trusted: nothing
// inside a sandbox can write its record.
func (h *host) Network(ctx context.Context, ref sandbox.Ref) (policy sandbox.NetworkPolicy, trusted bool, err error) {
	err = h.do(ctx, read("network"), func(_ context.Context, st *state) error {
		rec, err := st.find(ref)
		policy.Open = rec.OpenNetwork
		return err
	})
	if err != nil {
		return sandbox.NetworkPolicy{}, false, h.failed("read the network policy of sandbox", ref.Handle, err)
	}
	return policy, true, nil
}

// CanSetNetwork: what is asked of the next command is all that ever held it.
func (h *host) CanSetNetwork(_, _ sandbox.NetworkPolicy) bool { return true }

// SetNetwork decides about the next command; one that runs keeps what it has.
func (h *host) SetNetwork(ctx context.Context, ref sandbox.Ref, policy sandbox.NetworkPolicy) error {
	return h.edit(ctx, "set-network", "set the network policy of sandbox", ref, func(rec *record) error {
		if err := backend.Refused(refuseNetwork(policy)); err != nil {
			return err
		}
		rec.OpenNetwork = policy.Open
		return nil
	})
}

func (h *host) edit(ctx context.Context, verb, attempt string, ref sandbox.Ref, edit func(*record) error) error {
	err := h.do(ctx, read(verb), func(ctx context.Context, st *state) error { return st.change(ctx, ref, edit) })
	if err != nil {
		return h.failed(attempt, ref.Handle, err)
	}
	return nil
}
