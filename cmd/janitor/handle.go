// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
)

// about calls do with the handle given and, when there is no such thing, with the
// one handle that begins with it.
func (s *site) about(ctx context.Context, given string, do func(handle string) error) error {
	err := do(given)
	b := s.options.Connections[0].Backend
	unknown, malformed := errors.Is(err, janitor.ErrNoSuchThing), errors.Is(err, backend.ErrInvalid)
	if b == nil || !unknown && !malformed {
		return err
	}
	all, unlisted := handles(ctx, b)
	switch {
	case unlisted != nil && malformed: // it may as well be the place that is
		return err
	case unlisted != nil:
		return fmt.Errorf("look for what begins with %q: %w", given, unlisted)
	}
	found := slices.DeleteFunc(all, func(handle string) bool { return !strings.HasPrefix(handle, given) })
	switch {
	case len(found) == 0 || slices.Contains(found, given):
		return err
	case len(found) > 1:
		return cli.UsageError{
			Err:  fmt.Errorf("%q may be any of %s", given, strings.Join(found, ", ")),
			Next: "write more of the handle",
		}
	}
	return do(found[0])
}

// handles are those of all that the janitor judges at b.
func handles(ctx context.Context, b backend.Backend) ([]string, error) {
	var all []string
	for box, err := range b.List(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, box.Handle)
	}
	keeper, keeps := b.(backend.Leftovers)
	if !keeps {
		return all, nil
	}
	for leftover, err := range keeper.Leftovers(ctx) {
		if err != nil {
			return nil, err
		}
		all = append(all, leftover.Handle)
	}
	return all, nil
}
