// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func (r *reference) Renew(ctx context.Context, ref sandbox.Ref, until time.Time) (ends time.Time, err error) {
	err = r.read(ctx, "renew", func() error {
		rec, err := r.server.usable(ref)
		if err != nil {
			return err
		}
		if until.After(rec.ServerEnds) || r.flaw == renewalShortens {
			rec.ServerEnds = until
		}
		ends = rec.ServerEnds
		return nil
	})
	return ends, err
}

func (r *reference) Network(ctx context.Context, ref sandbox.Ref) (policy sandbox.NetworkPolicy, trusted bool, err error) {
	err = r.read(ctx, "network", func() error {
		rec, err := r.server.usable(ref)
		if err == nil {
			policy = rec.spec.Network
		}
		return err
	})
	return policy, true, err
}

func (r *reference) CanSetNetwork(_, _ sandbox.NetworkPolicy) bool { return true }

func (r *reference) SetNetwork(ctx context.Context, ref sandbox.Ref, policy sandbox.NetworkPolicy) error {
	return r.read(ctx, "network", func() error {
		rec, err := r.server.usable(ref)
		if err == nil && r.flaw != keepsNetwork {
			rec.spec.Network = policy
			if !policy.Open && r.flaw != lateBlock {
				close(rec.blocked)
				rec.blocked = make(chan struct{})
			}
		}
		return err
	})
}

func (r *reference) RefuseImage(backend.ImageSpec) []backend.Refusal { return nil }

func (r *reference) BuildImage(ctx context.Context, spec backend.ImageSpec, _ io.Writer) (reference string, err error) {
	if spec.From != "base" {
		return "", fmt.Errorf("%w: no image %q", backend.ErrInvalid, spec.From)
	}
	reference = fmt.Sprintf("im-%x", sha256.Sum256([]byte(spec.From+strings.Join(spec.Commands, "\n"))))
	if r.flaw == buildsAnew {
		reference += sandbox.NewMark()
	}
	return reference, r.read(ctx, "build", func() error { r.server.images[reference] = true; return nil })
}

func (r *reference) HasImage(ctx context.Context, reference string) (has bool, err error) {
	err = r.read(ctx, "image", func() error { has = r.server.images[reference]; return nil })
	return has, err
}

func (r *reference) DeleteImage(ctx context.Context, reference string) error {
	return r.read(ctx, "delete image", func() error {
		for _, rec := range r.server.records {
			if rec.spec.Image == reference && r.flaw != deletesUsedImage {
				return fmt.Errorf("%w: %s uses it", backend.ErrConflict, rec.Handle)
			}
		}
		delete(r.server.images, reference)
		return nil
	})
}

func (r *reference) Leftovers(ctx context.Context) iter.Seq2[sandbox.Leftover, error] {
	return func(yield func(sandbox.Leftover, error) bool) {
		var all []sandbox.Leftover
		err := r.read(ctx, "leftovers", func() error {
			all = slices.SortedFunc(maps.Values(r.server.leftovers), func(a, b sandbox.Leftover) int { return cmp.Compare(a.Handle, b.Handle) })
			return nil
		})
		for _, l := range all {
			if !yield(l, nil) {
				return
			}
		}
		if err != nil {
			yield(sandbox.Leftover{}, err)
		}
	}
}

func (r *reference) Remove(ctx context.Context, l sandbox.Leftover) error {
	return r.read(ctx, "remove", func() error {
		there, ok := r.server.leftovers[l.Handle]
		if ok && there.Incarnation != l.Incarnation && r.flaw != removesAnything {
			return fmt.Errorf("%w: another leftover", backend.ErrConflict)
		}
		delete(r.server.leftovers, l.Handle)
		return nil
	})
}
