// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package connect turns connection URIs into backends. It holds the only list
// of vendors and decides where secrets come from; nothing outside it asks which
// vendor a connection belongs to.
package connect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend/local"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend/modal"
)

var vendors = registry{local.Vendor, modal.Vendor}

// registry is a list of vendors, in the order in which they are listed to
// people.
type registry []backend.Vendor

// Vendors lists what Parse and Open know.
func Vendors() []backend.Vendor { return slices.Clone(vendors) }

// Parse makes the canonical Connection of uri. It does no I/O and reads no
// environment, so that a plan can call it. Every error is an ErrInvalid and
// repeats no part of uri that could be a secret.
func Parse(uri string) (backend.Connection, error) { return vendors.parse(uri) }

// Open opens conn, which Parse made. It looks up the credentials but does not
// reach the backend. Its errors leave it to the caller to name conn.
func Open(conn backend.Connection, options Options) (backend.Backend, error) {
	return vendors.open(conn, options)
}

// Options are what Open needs beyond the connection. The zero value takes
// secrets from the environment alone.
type Options struct {
	Sets   Sets
	Caller *backend.Caller // nil: a new one
	// Lookup reads an environment variable; nil: os.LookupEnv.
	Lookup func(name string) (value string, ok bool)
}

func (r registry) open(conn backend.Connection, options Options) (backend.Backend, error) {
	vendor, err := r.vendor(conn.Scheme)
	if err != nil {
		return nil, err
	}
	credentials, err := resolve(vendor, conn.CredentialsName(), options)
	if err != nil {
		return nil, fmt.Errorf("find its credentials: %w", err)
	}
	caller := options.Caller
	if caller == nil {
		caller = &backend.Caller{}
	}
	return vendor.Open(conn, credentials, caller)
}

func (r registry) vendor(scheme string) (backend.Vendor, error) {
	for _, v := range r {
		if slices.Contains(v.Schemes, scheme) {
			return v, nil
		}
	}
	return backend.Vendor{}, invalid("unknown scheme %q; there are %s", scheme, r.schemes())
}

func (r registry) schemes() string {
	var all []string
	for _, v := range r {
		for _, scheme := range v.Schemes {
			all = append(all, scheme+":")
		}
	}
	return strings.Join(all, ", ")
}
