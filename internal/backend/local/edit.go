// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// Network reads what a command that begins now gets. It can be trusted: nothing
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

// CanSetNetwork: what loses the network is ended, so that every change holds.
func (h *host) CanSetNetwork(_, _ sandbox.NetworkPolicy) bool { return true }

// SetNetwork decides about the commands that begin from now on. One that runs
// cannot lose the network that it has: blocking it ends those that have it.
func (h *host) SetNetwork(ctx context.Context, ref sandbox.Ref, policy sandbox.NetworkPolicy) error {
	err := backend.Refused(refuseNetwork(policy))
	if err == nil {
		err = h.do(ctx, read("set-network"), func(ctx context.Context, st *state) error {
			err := st.change(ctx, ref, func(rec *record) error { rec.OpenNetwork = policy.Open; return nil })
			if err != nil || policy.Open {
				return err
			}
			return st.waitCutOff(ctx, ref)
		})
	}
	if errors.Is(err, errHangs) {
		err = fmt.Errorf("%w: no other command gets the network any more, but %w", backend.ErrUnavailable, err)
	}
	if err != nil {
		return h.failed("set the network policy of sandbox", ref.Handle, err)
	}
	return nil
}

// waitCutOff waits until no command of a sandbox has the network, as destroying
// it waits for all of them.
func (st *state) waitCutOff(ctx context.Context, ref sandbox.Ref) error {
	dir, err := st.openSandbox(ref)
	if err != nil {
		return err
	}
	defer dir.Close()
	none, err := waitIdle(ctx, dir, openLock)
	if errors.Is(err, fs.ErrNotExist) { // the directory is being deleted
		return gone(ref)
	}
	if err != nil {
		return err
	}
	return none.Close()
}

func (h *host) edit(ctx context.Context, verb, attempt string, ref sandbox.Ref, edit func(*record) error) error {
	err := h.do(ctx, read(verb), func(ctx context.Context, st *state) error { return st.change(ctx, ref, edit) })
	if err != nil {
		return h.failed(attempt, ref.Handle, err)
	}
	return nil
}
