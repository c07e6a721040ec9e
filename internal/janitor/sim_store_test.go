// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"fmt"
	"strconv"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// document is the one document of a world.
type document struct {
	Document
	version int
}

// remembers reports whether the host's last look was saved by a clock that was
// right, so that one that is grossly wrong now can be told.
func (d *document) remembers(w *world) bool {
	last := d.Scopes["sim:host"].LastLook
	return !last.IsZero() && last.Before(w.now.Add(clockError))
}

// simStore is the store in one view.
type simStore view

func (s *simStore) Load(ctx context.Context) (Document, Version, error) {
	v := (*view)(s)
	var document Document
	var version int
	err := v.call(ctx, DefaultCallTimeout/2, func() error {
		document, version = v.store.Document, v.store.version
		return nil
	})
	if err != nil {
		return Document{}, "", err
	}
	if v.cfg.noClaims && document.Run.Process != v.name {
		document.Run = Run{}
	}
	if !v.hasKnown {
		v.known, v.hasKnown = document, true
	}
	return document, Version(strconv.Itoa(version)), nil
}

func (s *simStore) Newest(ctx context.Context) (newest Version, err error) {
	v := (*view)(s)
	err = v.call(ctx, DefaultCallTimeout/2, func() error {
		newest = Version(strconv.Itoa(v.store.version))
		return nil
	})
	return newest, err
}

func (s *simStore) Save(ctx context.Context, document Document, version Version) (Version, error) {
	v := (*view)(s)
	err := v.call(ctx, DefaultCallTimeout/2, func() error {
		if !v.cfg.noVersions && version != Version(strconv.Itoa(v.store.version)) {
			return fmt.Errorf("save: %w", ErrConflict)
		}
		claimed := v.store.Run.ID == document.Run.ID && document.Run.ID != ""
		if v.cfg.noIntents && claimed {
			return nil
		}
		v.checkSave(document)
		v.store.Document = document
		v.store.version++
		return nil
	})
	if err != nil {
		return "", err
	}
	return Version(strconv.Itoa(v.store.version)), nil
}

var _ backend.Leftovers = hostBackend{}
