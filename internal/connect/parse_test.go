// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package connect

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// remote is a vendor with accounts and settings, as the coming ones are.
var remote = backend.Vendor{
	Name:             "remote",
	Schemes:          []string{"remote+https", "remote+http"},
	CredentialFields: []string{"key_id", "secret"},
	Settings:         []string{"timeout"},
	Parse: func(u *url.URL) (backend.Connection, error) {
		conn := backend.Connection{Scheme: u.Scheme, Authority: u.Host}
		if timeout := u.Query().Get("timeout"); timeout != "" && timeout != "30s" {
			conn.Settings = url.Values{"timeout": {timeout}}
		}
		return conn, nil
	},
	Open: func(conn backend.Connection, credentials backend.Credentials, _ *backend.Caller) (backend.Backend, error) {
		return opened{conn: conn, credentials: credentials}, nil
	},
}

type opened struct {
	backend.Backend
	conn        backend.Connection
	credentials backend.Credentials
}

var both = append(registry{remote}, vendors...)

func TestURIsHaveOneCanonicalForm(t *testing.T) {
	for uri, want := range map[string]string{
		"local:":                               "local:",
		"LOCAL:":                               "local:",
		"local:?":                              "local:",
		"local://":                             "local:",
		"local:/srv/sandboxes":                 "local:///srv/sandboxes",
		"local:///srv/sandboxes":               "local:///srv/sandboxes",
		"local:///srv//./sandboxes/":           "local:///srv/sandboxes",
		"local:///srv/a%20b%3f":                "local:///srv/a%20b%3F",
		"local:///srv/a b":                     "local:///srv/a%20b",
		"local:?deployment=prod":               "local:?deployment=prod",
		"local:///srv?deployment=airflow-prod": "local:///srv?deployment=airflow-prod",
		"remote+https://host:8443":             "remote+https://host:8443",
		"remote+https://host?timeout=30s":      "remote+https://host",
		"remote+http://host?timeout=5s&deployment=b&credentials=a": "remote+http://host?credentials=a&deployment=b&timeout=5s",
	} {
		conn, err := both.parse(uri)
		if err != nil {
			t.Errorf("parse(%q): %v", uri, err)
			continue
		}
		if conn.String() != want {
			t.Errorf("parse(%q) = %q, want %q", uri, conn, want)
		}
		again, err := both.parse(conn.String())
		if err != nil || again.String() != conn.String() || !backend.SameLocation(conn, again) {
			t.Errorf("parse(%q) = %q, %v; want itself", conn, again, err)
		}
	}
}

// secret must not come back in any error.
const secret = "hunter2"

func TestWrongURIsAreRefusedWithTheReasonAndWithoutSecrets(t *testing.T) {
	for uri, want := range map[string]string{
		"":                                  "there are remote+https:, remote+http:, local:",
		"  ":                                "empty",
		"local":                             "no scheme; there are",
		"/srv/sandboxes":                    "no scheme",
		"docker://x":                        "unknown scheme \"docker\"; there are remote+https:, remote+http:, local:",
		"local:srv/sandboxes":               "relative",
		"local://srv/sandboxes":             "names a host",
		"local:///srv/../etc":               "..",
		"local:///srv/%2e%2e/etc":           "..",
		"local:///":                         "root directory",
		"local:///srv/%00":                  "NUL",
		"local:?color=red":                  "unknown setting \"color\" of a local connection; there are credentials, deployment",
		"local:?credentials=prod":           "no accounts",
		"local:?timeout=5s":                 "unknown setting",
		"local:?deployment=a&deployment=b":  "given 2 times",
		"local:?deployment=":                "is empty",
		"local:?deployment=a%20b":           "deployment must be",
		"local:?deployment=%zz":             "not well formed",
		"local:#top":                        "fragment",
		"local:#":                           "fragment",
		"remote+https://h?credentials=Prod": "credentials must name",
		"remote+https://h?credentials=a_b":  "credentials must name",
		"remote+https://h?credentials=-":    "credentials must name",
		"remote+https://user:hunter2@host":  "must not hold a user or password",
		"remote+https://hunter2@host":       "must not hold a user or password",
		"remote+https://id:hunter2":         "not well formed",
		"remote+https:id:hunter2@host":      "must not hold a user or password",
		"remote+https://h?token=hunter2":    "unknown setting \"token\"",
		"remote+https://h?credentials=hunter2&credentials=hunter2": "2 times",
		"\x7f:hunter2": "not well formed",
	} {
		conn, err := both.parse(uri)
		if err == nil {
			t.Errorf("parse(%q) = %q, want an error", uri, conn)
			continue
		}
		if !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%q): %v; want it to say %q", uri, err, want)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("parse(%q) repeats a secret: %v", uri, err)
		}
	}
}

func TestSettingsDoNotChangeTheLocation(t *testing.T) {
	plain, err := Parse("local:///srv")
	if err != nil {
		t.Fatal(err)
	}
	marked, err := Parse("local:///srv?deployment=prod")
	if err != nil {
		t.Fatal(err)
	}
	if !backend.SameLocation(plain, marked) || plain.String() == marked.String() || marked.Deployment() != "prod" {
		t.Errorf("%q and %q: want one location with different settings", plain, marked)
	}
}

func FuzzParsedURIsStayWhatTheyAre(f *testing.F) {
	for _, seed := range []string{"local:", "local:///a/b?deployment=x", "remote+https://h:1?timeout=1s", "local:///%41%ff?", "local:a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		conn, err := both.parse(uri)
		if err != nil {
			if !errors.Is(err, backend.ErrInvalid) {
				t.Errorf("parse(%q): %v, want it to be ErrInvalid", uri, err)
			}
			return
		}
		again, err := both.parse(conn.String())
		if err != nil || again.String() != conn.String() {
			t.Errorf("parse(%q) = %q, which is read as %q, %v", uri, conn, again, err)
		}
	})
}
