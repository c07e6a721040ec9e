// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package connect

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

func TestCredentialsAreResolved(t *testing.T) {
	ambient := map[string]string{"REMOTE_KEY_ID": "ambient", "REMOTE_SECRET": "hunter2"}
	named := map[string]string{"PROD_EU_REMOTE_KEY_ID": "named", "PROD_EU_REMOTE_SECRET": "hunter2"}
	set := func(credentials backend.Credentials) Sets {
		return Sets{"prod-eu": {"remote": credentials}}
	}
	whole := backend.Credentials{"key_id": "provided", "secret": "hunter2"}

	for _, test := range []struct {
		name        string
		credentials string
		sets        Sets
		environment map[string]string
		wantKeyID   string // empty: none
		wantError   string
	}{
		{name: "nothing anywhere is left to the vendor"},
		{name: "without a name the vendor's variables", environment: ambient, wantKeyID: "ambient"},
		{name: "without a name no set", sets: set(whole)},
		{name: "an incomplete environment is an error", environment: map[string]string{"REMOTE_KEY_ID": "ambient"}, wantError: "REMOTE_SECRET is missing"},
		{name: "an empty variable is an error", environment: map[string]string{"REMOTE_KEY_ID": "ambient", "REMOTE_SECRET": ""}, wantError: "REMOTE_SECRET is empty"},
		{name: "a line break from a file is an error", environment: map[string]string{"REMOTE_KEY_ID": "ambient", "REMOTE_SECRET": "hunter2\n"}, wantError: "REMOTE_SECRET holds a blank, a line break"},
		{name: "a field that no header carries is an error", credentials: "prod-eu", sets: set(backend.Credentials{"key_id": "provided", "secret": "hünter2"}), wantError: "not ASCII"},
		{name: "a named set of the provider", credentials: "prod-eu", sets: set(whole), environment: named, wantKeyID: "provided"},
		{name: "a named set of the environment", credentials: "prod-eu", environment: named, wantKeyID: "named"},
		{name: "a named set never falls back to an ambient one", credentials: "prod-eu", environment: ambient, wantError: "there is no credential set \"prod-eu\""},
		{name: "nor field by field", credentials: "prod-eu", sets: set(backend.Credentials{"key_id": "provided"}), environment: merge(ambient, named),
			wantError: "field \"secret\" of credential set \"prod-eu\" is missing"},
		{name: "the error names the variables", credentials: "prod-eu", wantError: "PROD_EU_REMOTE_KEY_ID, PROD_EU_REMOTE_SECRET"},
		{name: "an empty field is an error", credentials: "prod-eu", sets: set(backend.Credentials{"key_id": "provided", "secret": ""}), wantError: "is empty"},
		{name: "an unknown field is an error", credentials: "prod-eu", sets: set(backend.Credentials{"token": "hunter2"}), wantError: "unknown field \"token\""},
		{name: "a set for another vendor is an error", credentials: "prod-eu", sets: Sets{"prod-eu": {"modal": whole}}, environment: named,
			wantError: "has nothing for remote; it has modal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn, err := both.parse("remote+https://host")
			if err != nil {
				t.Fatal(err)
			}
			if test.credentials != "" {
				if conn, err = both.parse("remote+https://host?credentials=" + test.credentials); err != nil {
					t.Fatal(err)
				}
			}
			b, err := both.open(conn, Options{Sets: test.sets, Lookup: func(name string) (string, bool) {
				value, ok := test.environment[name]
				return value, ok
			}})
			if test.wantError != "" {
				if !errors.Is(err, backend.ErrUnauthorized) || !strings.Contains(err.Error(), test.wantError) {
					t.Errorf("error %v; want it to say %q", err, test.wantError)
				}
				if err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("the error repeats a secret: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var want backend.Credentials
			if test.wantKeyID != "" {
				want = backend.Credentials{"key_id": test.wantKeyID, "secret": "hunter2"}
			}
			got, ok := b.(opened)
			if diff := cmp.Diff(want, got.credentials); !ok || diff != "" {
				t.Errorf("credentials (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANamedSetIsAtLastTheVendorsOwnProfile(t *testing.T) {
	kept := map[string]backend.Credentials{"prod-eu": {"profile": "prod-eu"}}
	withProfiles := remote
	withProfiles.Profile = func(name string) (backend.Credentials, bool, error) {
		if name == "broken" {
			return nil, false, backend.ErrUnauthorized
		}
		found, ok := kept[name]
		return found, ok, nil
	}
	vendors := registry{withProfiles}
	for name, test := range map[string]struct {
		environment map[string]string
		want        backend.Credentials
	}{
		"prod-eu": {map[string]string{"REMOTE_KEY_ID": "ambient", "REMOTE_SECRET": "hunter2"}, kept["prod-eu"]},
		"other":   {nil, nil},
		"broken":  {nil, nil},
		"set":     {map[string]string{"SET_REMOTE_KEY_ID": "named", "SET_REMOTE_SECRET": "hunter2"}, backend.Credentials{"key_id": "named", "secret": "hunter2"}},
	} {
		conn, err := vendors.parse("remote+https://host?credentials=" + name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := vendors.open(conn, Options{Lookup: func(name string) (string, bool) {
			value, ok := test.environment[name]
			return value, ok
		}})
		if test.want == nil {
			if !errors.Is(err, backend.ErrUnauthorized) {
				t.Errorf("%s: %v, want not authorized", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, ok := b.(opened); !ok || !maps.Equal(got.credentials, test.want) {
			t.Errorf("%s: %v, want %v", name, got.credentials, test.want)
		}
	}
}

func TestOpenRefusesAConnectionOfNoVendor(t *testing.T) {
	_, err := Open(backend.Connection{Scheme: "docker"}, Options{})
	if !errors.Is(err, backend.ErrInvalid) {
		t.Errorf("Open = %v, want ErrInvalid", err)
	}
}

func TestOpenReachesNothing(t *testing.T) {
	conn, err := Parse("local:///no/such/directory")
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(conn, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b.Scope() != "local:///no/such/directory" {
		t.Errorf("Scope = %q", b.Scope())
	}
}

func TestVendorsShareNoSchemeAndNoSetting(t *testing.T) {
	schemes := map[string]bool{}
	for _, v := range Vendors() {
		for _, scheme := range v.Schemes {
			if schemes[scheme] {
				t.Errorf("scheme %q is taken twice", scheme)
			}
			schemes[scheme] = true
		}
		for _, key := range v.Settings {
			if key == settingCredentials || key == settingDeployment {
				t.Errorf("vendor %s has a setting %q of its own, which all have", v.Name, key)
			}
		}
	}
}

func merge(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
