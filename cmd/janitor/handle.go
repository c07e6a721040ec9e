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
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// whole returns the handle of the one sandbox or leftover that begins with given.
// What is no beginning of one is returned as it is: whoever looks for it says that
// it is not there.
func (s *site) whole(ctx context.Context, given string) (string, error) {
	b := s.options.Connections[0].Backend
	if b == nil {
		return given, nil // which the caller will say
	}
	_, err := b.Get(ctx, sandbox.Ref{Handle: given})
	if !errors.Is(err, backend.ErrNotFound) && !errors.Is(err, backend.ErrInvalid) {
		return given, nil
	}
	all, err := handles(ctx, b)
	if err != nil {
		return "", exit{cli.ExitUnreachable, fmt.Errorf("look for what begins with %q: %w", given, err)}
	}
	found := slices.DeleteFunc(all, func(handle string) bool { return !strings.HasPrefix(handle, given) })
	switch {
	case len(found) == 0 || slices.Contains(found, given):
		return given, nil
	case len(found) > 1:
		return "", usage("%q may be any of %s: write more of it", given, strings.Join(found, ", "))
	}
	return found[0], nil
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
