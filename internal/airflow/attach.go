// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"errors"
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// The reasons not to attach.
var (
	ErrNotOwner = errors.New("not owned by")
	ErrHeld     = errors.New("already held by")
)

// Settling is how long a claim must stand before a destroy relies upon it: many
// times what Airflow takes between its read of the tags and its write.
const Settling = 500 * time.Millisecond

// Holder is who is attached to the sandbox with these tags; empty: nobody.
func Holder(tags sandbox.Tags) string { return tags[TagHolder] }

// Claim returns the tags with which holder, presenting owner, takes the
// sandbox. There is nothing to write when it holds the sandbox already. After
// writing, read again: the claim stands only if Holder is still holder.
func Claim(tags sandbox.Tags, owner, holder string) (claimed sandbox.Tags, write bool, err error) {
	if stamped, ok := tags[TagOwner]; !ok || stamped != owner {
		return tags, false, fmt.Errorf("%w %q", ErrNotOwner, owner)
	}
	switch Holder(tags) {
	case holder:
		if _, stamped := tags[TagHolder]; stamped {
			return tags, false, nil
		}
	case "":
	default:
		return tags, false, fmt.Errorf("%w %q", ErrHeld, Holder(tags))
	}
	claimed = tags.Clone()
	claimed[TagHolder] = holder
	return claimed, true, nil
}

// Release takes holder's claim off the tags, and reports whether there is
// anything to write: not when the claim is another's, or there is none.
func Release(tags sandbox.Tags, holder string) (write bool) {
	if stamped, ok := tags[TagHolder]; !ok || stamped != holder {
		return false
	}
	delete(tags, TagHolder)
	return true
}
