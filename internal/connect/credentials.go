// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package connect

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// Sets are named credentials as a user writes them: the set's name, then the
// vendor's, then the fields. They hold secrets; never print one.
type Sets map[string]map[string]backend.Credentials

// resolve finds the credentials of one connection. A named set comes from
// options.Sets, else from the environment variables that bear its name, else from
// the vendor's profile of that name, else it is an error: it never falls back to an ambient one, which could belong to
// another account. Without a name, the vendor's own variables are taken, and
// none of them set means nil: what the vendor does then is its own rule.
func resolve(vendor backend.Vendor, name string, options Options) (backend.Credentials, error) {
	lookup := options.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	if len(vendor.CredentialFields) == 0 {
		return nil, nil
	}
	if name != "" {
		if set, ok := options.Sets[name]; ok {
			return fromSet(vendor, name, set)
		}
	}
	found := backend.Credentials{}
	for _, field := range vendor.CredentialFields {
		if value, ok := lookup(variable(name, vendor, field)); ok {
			found[field] = value
		}
	}
	switch {
	case len(found) == 0 && name == "":
		return nil, nil
	case len(found) == 0:
		return fromProfile(vendor, name)
	}
	if err := complete(vendor, found, func(field string) string { return variable(name, vendor, field) }); err != nil {
		return nil, err
	}
	return found, nil
}

func fromSet(vendor backend.Vendor, name string, set map[string]backend.Credentials) (backend.Credentials, error) {
	credentials, ok := set[vendor.Name]
	if !ok {
		return nil, fmt.Errorf("%w: credential set %q has nothing for %s; it has %s",
			backend.ErrUnauthorized, name, vendor.Name, list(slices.Sorted(maps.Keys(set))))
	}
	for field := range credentials {
		if !slices.Contains(vendor.CredentialFields, field) {
			return nil, fmt.Errorf("%w: credential set %q has an unknown field %q for %s; there are %s",
				backend.ErrUnauthorized, name, field, vendor.Name, list(vendor.CredentialFields))
		}
	}
	err := complete(vendor, credentials, func(field string) string {
		return fmt.Sprintf("field %q of credential set %q", field, name)
	})
	if err != nil {
		return nil, err
	}
	return maps.Clone(credentials), nil
}

// fromProfile takes the vendor's own profile of that name.
func fromProfile(vendor backend.Vendor, name string) (backend.Credentials, error) {
	places := "neither the provider's credentials nor the variables " + variables(name, vendor) + " hold it"
	if vendor.Profile != nil {
		found, ok, err := vendor.Profile(name)
		if ok || err != nil {
			return found, err
		}
		places += ", and " + vendor.Name + " has no profile of that name"
	}
	return nil, fmt.Errorf("%w: there is no credential set %q: %s", backend.ErrUnauthorized, name, places)
}

// complete demands every field of the vendor. An empty string is what a missing
// secret becomes in many a pipeline, and some vendors read it as "anyone".
func complete(vendor backend.Vendor, got backend.Credentials, where func(field string) string) error {
	for _, field := range vendor.CredentialFields {
		value, ok := got[field]
		if !ok {
			return fmt.Errorf("%w: %s is missing", backend.ErrUnauthorized, where(field))
		}
		if value == "" {
			return fmt.Errorf("%w: %s is empty", backend.ErrUnauthorized, where(field))
		}
		if strings.ContainsFunc(value, unsendable) {
			return fmt.Errorf("%w: %s holds a blank, a line break or a character that is not ASCII; a file that it was read from may end in one",
				backend.ErrUnauthorized, where(field))
		}
	}
	return nil
}

// unsendable is what no key or token holds, and no header carries. Its refusal by
// the vendor's client would look like a place that is down.
func unsendable(r rune) bool { return r <= ' ' || r > '~' }

// variable is the environment variable of one field, such as MODAL_TOKEN_ID or,
// for the set prod, PROD_MODAL_TOKEN_ID.
func variable(name string, vendor backend.Vendor, field string) string {
	parts := []string{vendor.Name, field}
	if name != "" {
		parts = append([]string{name}, parts...)
	}
	return strings.ToUpper(strings.ReplaceAll(strings.Join(parts, "_"), "-", "_"))
}

func variables(name string, vendor backend.Vendor) string {
	var all []string
	for _, field := range vendor.CredentialFields {
		all = append(all, variable(name, vendor, field))
	}
	return list(all)
}

func list(items []string) string {
	if len(items) == 0 {
		return "nothing"
	}
	return strings.Join(items, ", ")
}
