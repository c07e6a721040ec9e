// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/sethvargo/go-retry"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// What a destroy does with a sandbox that a task holds.
const (
	onHeldWait   = "wait"
	onHeldRetire = "retire"
	onHeldKill   = "kill"
)

// How often a held sandbox is looked at.
const (
	firstLook   = 500 * time.Millisecond
	longestLook = 10 * time.Second
)

// heldBy names who holds the sandbox with these tags. A claim of
// Terraform's is none: it is what a destroy that was killed has left.
func heldBy(tags sandbox.Tags) string {
	if holder := airflow.Holder(tags); !sandbox.IsClaim(holder) {
		return holder
	}
	return ""
}

// claim is Airflow's own lock on a sandbox, taken by Terraform before a destroy,
// so that no task attaches to what is about to go. Where Airflow cannot attach
// there is nothing to take.
type claim struct {
	backend backend.Backend
	ref     sandbox.Ref
	onHeld  string
	holder  string // empty: nothing to take
	at      string // moment of the teardown, as a tag
	written bool   // the claim may stand in the tags
	racing  bool   // a task may write over the claim without having seen it
	robbed  string // the task that held it until on_held = "kill" took it
}

func (r *instanceResource) newClaim(conn *Connection, ref sandbox.Ref, onHeld string) *claim {
	c := &claim{backend: conn.Backend, ref: ref, onHeld: onHeld, at: strconv.FormatInt(r.connections.Clock.Now().Unix(), 10)}
	if can := conn.Backend.Capabilities(); can.Attachable && can.Tags == backend.TagsEditable {
		c.holder = sandbox.NewClaim()
	}
	return c
}

// take claims the sandbox, and waits for that while a task holds it and on_held
// says so. holder names the task to which it is left where on_held = "retire".
// After an error nothing is claimed.
func (c *claim) take(ctx context.Context) (holder string, err error) {
	if c.holder == "" {
		return "", nil
	}
	for waits := retry.WithCappedDuration(longestLook, retry.NewExponential(firstLook)); ; {
		now, err := c.try(ctx)
		if err == nil && now == "" && c.racing {
			now, err = c.settle(ctx)
		}
		if err != nil {
			c.withdraw(ctx)
		}
		switch {
		case err == nil && (now == "" || c.onHeld == onHeldRetire):
			return now, nil
		case err == nil:
			holder = now
		case holder == "", ctx.Err() == nil && !errors.Is(err, backend.ErrUnavailable):
			return "", err
		}
		next, _ := waits.Next()
		if backend.Pause(ctx, next) != nil {
			return "", fmt.Errorf("%s still holds it. Nothing was destroyed: run again when the task has let go, raise "+
				"timeouts.delete, or set on_held. A destroy follows what was applied last, so apply such a change first. "+
				"No change reaches what the plan calls deposed: that goes once the task lets go or, if it is dead, after "+
				"`sandbox release '%s' %s`", holder, c.backend.Scope(), c.ref.Handle)
		}
	}
}

// try writes the claim and the teardown mark in one write, and reads them again,
// unless a task holds the sandbox that must not be robbed. Where the place takes
// no such tags, what is free, or to be killed, goes without a claim: it could
// never be destroyed otherwise.
func (c *claim) try(ctx context.Context) (holder string, err error) {
	free := c.onHeld == onHeldKill
	err = backend.EditTags(ctx, c.backend, c.ref, func(tags sandbox.Tags) {
		holder = heldBy(tags)
		free = holder == "" || c.onHeld == onHeldKill
		if holder != "" && c.onHeld != onHeldKill {
			return
		}
		if holder != "" {
			c.robbed, holder = holder, ""
		}
		c.written = true
		c.racing = tags[airflow.TagOwner] != "" && c.onHeld != onHeldKill // without an owner nobody attaches
		tags[airflow.TagHolder] = c.holder
		markOnce(tags, sandbox.TagTeardownAt, c.at)
	})
	if free && errors.Is(err, backend.ErrInvalid) {
		slog.WarnContext(ctx, "a sandbox is destroyed without a claim", "handle", c.ref.Handle, "error", err)
		return "", nil
	}
	return holder, err
}

// settle looks again a moment later. Nothing at a vendor compares before it
// writes, so a task that had read the tags before the claim was written takes the
// sandbox over it, and believes itself attached.
func (c *claim) settle(ctx context.Context) (holder string, err error) {
	if err := backend.Pause(ctx, airflow.Settling); err != nil {
		return "", err
	}
	found, err := c.backend.Get(ctx, c.ref)
	return heldBy(found.Tags), err
}

// withdraw undoes a write of which it is not known whether it holds: another
// program wrote at the same time, or the answer was lost.
func (c *claim) withdraw(ctx context.Context) {
	if !c.written {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWithin)
	defer cancel()
	err := backend.EditTags(ctx, c.backend, c.ref, func(tags sandbox.Tags) {
		c.release(tags)
		if tags[sandbox.TagTeardownAt] == c.at {
			delete(tags, sandbox.TagTeardownAt)
		}
	})
	if err != nil {
		slog.WarnContext(ctx, "a claim was not withdrawn", "handle", c.ref.Handle, "holder", c.holder, "error", err)
	}
}

// release gives the sandbox back to whom it was taken from.
func (c *claim) release(tags sandbox.Tags) {
	if c.written && airflow.Holder(tags) == c.holder {
		setOrDelete(tags, airflow.TagHolder, c.robbed)
	}
}

// leave gives the claim back after a failed destroy, keeps the teardown mark, or
// makes it, and says what is to be done now. It returns nil when the sandbox
// turns out to be gone.
func (c *claim) leave(ctx context.Context, failure error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markWithin)
	defer cancel()
	err := backend.EditTags(ctx, c.backend, c.ref, func(tags sandbox.Tags) {
		markOnce(tags, sandbox.TagTeardownAt, c.at)
		c.release(tags)
	})
	if errors.Is(err, backend.ErrNotFound) {
		return nil
	}
	return unfinished(failure, err)
}
