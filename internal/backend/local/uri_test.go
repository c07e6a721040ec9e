// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package local

import (
	"net/url"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

func parseURI(uri string) (backend.Connection, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return backend.Connection{}, err
	}
	return Vendor.Parse(u)
}

func TestOnlyACleanAbsoluteDirectoryIsALocation(t *testing.T) {
	for uri, want := range map[string]string{
		"local:":              "local:",
		"local:///srv/x/./y/": "local:///srv/x/y",
		"local:///..srv/a..b": "local:///..srv/a..b",
	} {
		if conn, err := parseURI(uri); err != nil || conn.String() != want {
			t.Errorf("%q = %q, %v; want %q", uri, conn, err, want)
		}
	}
	for _, uri := range []string{"local:x", "local:./x", "local://x", "local:///x/../y", "local:///..", "local:///", "local:///%00"} {
		if conn, err := parseURI(uri); err == nil {
			t.Errorf("%q = %q, want an error", uri, conn)
		}
	}
}
