// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package connect

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// The settings that every vendor has.
const (
	settingCredentials = "credentials"
	settingDeployment  = "deployment"
)

var (
	// A credentials name becomes a part of environment variable names, so that
	// two names must not meet there.
	credentialsName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
	deploymentName  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
)

// CheckCredentialsName reports whether name may name a credential set.
func CheckCredentialsName(name string) error {
	if !credentialsName.MatchString(name) {
		return invalid("credentials must name a set with 1 to 63 lower-case letters, digits and dashes, beginning with a letter")
	}
	return nil
}

// CheckDeployment reports whether name may mark an Airflow deployment.
func CheckDeployment(name string) error {
	if !deploymentName.MatchString(name) {
		return invalid("deployment must be 1 to 63 letters, digits, dots, dashes and underscores, beginning and ending with a letter or digit")
	}
	return nil
}

func (r registry) parse(uri string) (backend.Connection, error) {
	u, err := r.split(uri)
	if err != nil {
		return backend.Connection{}, err
	}
	vendor, err := r.vendor(u.Scheme)
	if err != nil {
		return backend.Connection{}, err
	}
	common, err := takeCommon(u, vendor)
	if err != nil {
		return backend.Connection{}, err
	}
	conn, err := vendor.Parse(u)
	if err != nil {
		return backend.Connection{}, err
	}
	for key, values := range common {
		if conn.Settings == nil {
			conn.Settings = url.Values{}
		}
		conn.Settings[key] = values
	}
	return conn, nil
}

// split parses the parts that mean the same for every vendor. What url.Parse
// complains about may quote a secret, so its words are dropped.
func (r registry) split(uri string) (*url.URL, error) {
	if strings.TrimSpace(uri) == "" {
		return nil, invalid("the connection URI is empty; there are %s", r.schemes())
	}
	u, err := url.Parse(uri)
	switch {
	case err != nil:
		return nil, invalid("the connection URI is not well formed; it reads SCHEME:, SCHEME://LOCATION or SCHEME://LOCATION?SETTING=VALUE")
	case u.Scheme == "":
		return nil, invalid("the connection URI has no scheme; there are %s", r.schemes())
	case u.User != nil || strings.Contains(u.Opaque, "@"):
		return nil, invalid("a connection URI must not hold a user or password; name a credential set with ?credentials=NAME")
	case u.Fragment != "" || strings.Contains(uri, "#"):
		return nil, invalid("a connection URI has no fragment; write # as %%23")
	}
	return u, nil
}

// takeCommon checks the query's keys and takes those out of u that every vendor
// has, so that a vendor's Parse sees only its own.
func takeCommon(u *url.URL, vendor backend.Vendor) (url.Values, error) {
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, invalid("the settings after ? are not well formed; they read KEY=VALUE&KEY=VALUE")
	}
	known := slices.Sorted(slices.Values(append([]string{settingCredentials, settingDeployment}, vendor.Settings...)))
	common := url.Values{}
	for key, values := range query {
		switch {
		case !slices.Contains(known, key):
			return nil, invalid("unknown setting %q of a %s connection; there are %s", key, vendor.Name, strings.Join(known, ", "))
		case len(values) > 1:
			return nil, invalid("setting %q is given %d times", key, len(values))
		case values[0] == "":
			return nil, invalid("setting %q is empty; leave it out instead", key)
		case slices.Contains(vendor.Settings, key):
			continue
		}
		if err := checkCommon(key, values[0], vendor); err != nil {
			return nil, err
		}
		common[key] = values
		query.Del(key)
	}
	u.RawQuery, u.ForceQuery = query.Encode(), false
	return common, nil
}

func checkCommon(key, value string, vendor backend.Vendor) error {
	if key == settingDeployment {
		return CheckDeployment(value)
	}
	if len(vendor.CredentialFields) == 0 {
		return invalid("a %s connection has no accounts, so credentials has no meaning there; leave it out", vendor.Name)
	}
	return CheckCredentialsName(value)
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", backend.ErrInvalid, fmt.Sprintf(format, args...))
}
