// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// editAttempts is how often EditTags reads, changes and writes.
const editAttempts = 4

// EditTags changes the keys that edit changes and leaves every other byte for
// byte: it reads the set, writes it whole, reads it again, and starts over while
// somebody else's write has undone ours. Where the backend is no TagEditor,
// nothing compares before it writes, so a write of another program between our
// read and our write can still be lost.
//
// edit may be called several times, each time with a fresh copy of the tags it
// must decide by; leaving them alone ends the edit without a write. ErrConflict
// names the keys that did not hold.
func EditTags(ctx context.Context, b Backend, ref sandbox.Ref, edit func(sandbox.Tags)) error {
	var err error
	if atomic, ok := b.(TagEditor); ok {
		err = atomic.EditTags(ctx, ref, edit)
	} else {
		err = editTags(ctx, b, ref, edit)
	}
	if err != nil {
		return fmt.Errorf("edit the tags of sandbox %s on %q: %w", ref.Handle, b.Scope(), err)
	}
	return nil
}

func editTags(ctx context.Context, b Backend, ref sandbox.Ref, edit func(sandbox.Tags)) error {
	tags, err := readTags(ctx, b, ref)
	if err != nil {
		return err
	}
	var written, lost []string
	for range editAttempts {
		wanted := tags.Clone()
		edit(wanted)
		if written = differing(tags, wanted); len(written) == 0 {
			return nil
		}
		// Whether a write without an answer took effect, the next read tells.
		if err = b.SetTags(ctx, ref, wanted); err != nil && !errors.Is(err, ErrUnknownOutcome) {
			return err
		}
		if tags, err = readTags(ctx, b, ref); err != nil {
			return err
		}
		lost = slices.DeleteFunc(written, func(key string) bool { return same(tags, wanted, key) })
		if len(lost) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%w: %s did not keep the value written %d times; another program writes them too",
		ErrConflict, strings.Join(lost, ", "), editAttempts)
}

// readTags reads the set by id, and again where a reply carries none.
func readTags(ctx context.Context, b Backend, ref sandbox.Ref) (sandbox.Tags, error) {
	waits := pollWaits()
	for range editAttempts {
		s, err := b.Get(ctx, ref)
		switch {
		case err != nil:
			return nil, err
		case s.Problem != "":
			return nil, fmt.Errorf("%w record: %s", ErrInvalid, s.Problem)
		case s.TagsKnown:
			return s.Tags.Clone(), nil
		}
		if err := pause(ctx, waits); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%w: the replies carried no tags, which does not mean that there are none", ErrUnavailable)
}

// differing returns the keys whose values differ, sorted.
func differing(a, b sandbox.Tags) []string {
	keys := a.Clone()
	maps.Copy(keys, b)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(keys)), func(key string) bool { return same(a, b, key) })
}

func same(a, b sandbox.Tags, key string) bool {
	av, aok := a[key]
	bv, bok := b[key]
	return av == bv && aok == bok
}
