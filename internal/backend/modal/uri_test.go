// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

func TestModalURIsHaveOneCanonicalForm(t *testing.T) {
	for uri, want := range map[string]string{
		"modal:":                           "modal:",
		"modal://":                         "modal:",
		"modal://main":                     "modal:",
		"modal://main/airflow-sandbox":     "modal:",
		"modal://main/airflow-sandbox/":    "modal:",
		"modal://main/other":               "modal://main/other",
		"modal://dev":                      "modal://dev/airflow-sandbox",
		"modal:?egress_enforcement=strict": "modal:",
		"modal:?workspace=acme":            "modal:?workspace=acme",
		"modal://Dev_1.x/a-b?workspace=acme&egress_enforcement=sni": "modal://Dev_1.x/a-b?egress_enforcement=sni&workspace=acme",
		"modal://main/" + strings.Repeat("a", 64):                   "modal://main/" + strings.Repeat("a", 64),
	} {
		conn, err := parseURI(t, uri)
		if err != nil || conn.String() != want {
			t.Errorf("parse(%q) = %q, %v; want %q", uri, conn, err, want)
			continue
		}
		again, err := parseURI(t, conn.String())
		if err != nil || again.String() != want {
			t.Errorf("parse(%q) = %q, %v; want itself", want, again, err)
		}
	}
}

func TestWrongModalURIsAreRefusedWithTheReason(t *testing.T) {
	for uri, want := range map[string]string{
		"modal:main/app":     "it reads modal://ENVIRONMENT/APP",
		"modal:///app":       "without its environment",
		"modal:/app":         "write modal://main/app",
		"modal://main/a/b":   "the app must be",
		"modal://main/a%20b": "the app must be",
		"modal://main/" + strings.Repeat("a", 65):     "1 to 64",
		"modal://main/ap-abcdefghijklmnopqrstuv":      "not an id",
		"modal://main:443/app":                        "the environment must be",
		"modal://-main/app":                           "the environment must be",
		"modal://en-1234/app":                         "not with en-",
		"modal://" + strings.Repeat("e", 65) + "/app": "1 to 64",
		"modal:?egress_enforcement=loose":             "strict or sni",
		"modal:?workspace=a%20b":                      "name of a workspace",
	} {
		conn, err := parseURI(t, uri)
		if !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%q) = %q, %v; want it to say %q", uri, conn, err, want)
		}
	}
}

func parseURI(t *testing.T, uri string) (backend.Connection, error) {
	t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	return parse(u)
}
