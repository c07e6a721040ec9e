// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import "net/url"

// Connection is a parsed connection URI: a location, on which the identity of
// sandboxes rests, and settings, which may change without touching one. It
// holds no secret. Made by a Vendor's Parse, always canonical.
type Connection struct {
	Scheme    string
	Authority string     // host and port, or the vendor's equivalent; may be empty
	Path      string     // begins with "/", or is empty
	Settings  url.Values // without defaults
}

// Location returns the canonical URI without settings.
func (c Connection) Location() string {
	if c.Authority == "" && c.Path == "" {
		return c.Scheme + ":"
	}
	return c.Scheme + "://" + c.Authority + (&url.URL{Path: c.Path}).EscapedPath()
}

// String returns the canonical URI: location, then settings sorted by key.
func (c Connection) String() string {
	if len(c.Settings) == 0 {
		return c.Location()
	}
	return c.Location() + "?" + c.Settings.Encode()
}

// SameLocation reports whether a and b name the same place, whatever their
// settings. It decides whether a sandbox must be replaced.
func SameLocation(a, b Connection) bool { return a.Location() == b.Location() }

// CredentialsName is the named credential set, or empty.
func (c Connection) CredentialsName() string { return c.Settings.Get("credentials") }

// Deployment is the marker of the Airflow deployment, or empty.
func (c Connection) Deployment() string { return c.Settings.Get("deployment") }

// Credentials are one vendor's secret fields by name, such as "token_id".
type Credentials map[string]string

// Vendor is the one exported value of a vendor package; package connect holds
// the list of them.
type Vendor struct {
	Name    string // as the block of sandbox_connection is called, such as "local"
	Schemes []string
	// CredentialFields are the names a Credentials of this vendor has; none for
	// a vendor without accounts.
	CredentialFields []string
	// Settings are the query keys of its own, besides those that all have.
	Settings []string
	// Parse makes the canonical Connection of a URL whose query holds keys of
	// Settings only, each once. It does no I/O and reads no environment.
	Parse func(*url.URL) (Connection, error)
	// Profile looks for the credentials that the vendor's own configuration file
	// keeps under name, and reports whether there are any; nil: it has no such file.
	Profile func(name string) (credentials Credentials, ok bool, err error)
	Open    func(Connection, Credentials, *Caller) (Backend, error)
}
