// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type connectionTable struct {
	header
	Without []any           `json:"without_connection"` // how hooks fall back; nothing is written there
	Cases   []connectionRow `json:"cases"`
}

// connectionRow is one connection, in one form, as Airflow takes it.
type connectionRow struct {
	Name            string           `json:"name"`
	Kind            string           `json:"kind"`
	Form            string           `json:"form"`
	ConnID          string           `json:"conn_id"`
	Value           any              `json:"value"`
	Read            *connectionRead  `json:"read"`
	ReadError       any              `json:"read_error"`
	CoreError       any              `json:"core_error"`
	URI             string           `json:"uri"`
	URICore         string           `json:"uri_core"`
	ExtraCore       any              `json:"extra_core"`
	Result          connectionResult `json:"result"`
	RoundTripSame   any              `json:"round_trip_same"`
	RoundTripFields any              `json:"round_trip_fields_changed"`
	RoundTripResult any              `json:"round_trip_result"`
}

// connectionResult is what ModalHook or OpenSandboxBackend takes from it.
type connectionResult struct {
	Error            string `json:"error"`
	Cause            string `json:"cause"`
	EnvironmentError string `json:"environment_error"`

	Credentials string `json:"credentials"` // "connection", or "ambient": those of the worker
	TokenID     string `json:"token_id"`
	TokenSecret string `json:"token_secret"`
	Environment any    `json:"environment"`

	Domain         string  `json:"domain"`
	Protocol       string  `json:"protocol"`
	APIKey         string  `json:"api_key"`
	TimeoutSeconds float64 `json:"request_timeout_seconds"`
	ServerProxy    bool    `json:"use_server_proxy"`
	BaseURL        string  `json:"base_url"`
}

// connectionRead is what a task's Connection object holds.
type connectionRead struct {
	Type        string  `json:"conn_type"`
	Host        *string `json:"host"`
	Login       *string `json:"login"`
	Password    *string `json:"password"`
	Schema      *string `json:"schema"`
	Port        *int    `json:"port"`
	Extra       *string `json:"extra"`
	Description *string `json:"description"`
}

// notWritten are the rows that we do not write as Airflow does, by reason.
var notWritten = map[string][]string{
	"Airflow cannot read the document, so that nothing is to be written back": {
		"modal_json_unknown_key",
		"modal_json_conn_id_key",
		"modal_json_broken",
		"modal_json_number_login",
		"modal_json_port_text",
		"modal_json_broken_default_id_falls_to_ambient",
		"modal_json_unknown_key_default_id",
		"modal_uri_three_schemes_default_id",
		"modal_empty_value",
		"modal_spaces_value",
		"modal_empty_value_default_id",
		"modal_uri_raw_slash_in_password",
		"modal_uri_raw_hash_in_password",
		"modal_uri_raw_question_in_password",
		"modal_uri_raw_scheme_inside_password",
		"modal_uri_three_schemes",
		"opensandbox_uri_port_too_big",
		"opensandbox_uri_port_text",
	},
	"an empty password is left out; Airflow writes it, and its hooks do not tell the two apart": {
		"modal_json_login_empty_password",
		"modal_json_both_empty",
		"modal_uri_login_empty_password",
		"modal_uri_empty_both",
		"modal_fields_empty_strings",
		"opensandbox_json_password_empty",
	},
	"a URI cannot carry a description": {
		"modal_json_description",
	},
	"an extra that is not a string is read differently by a worker and by the server": {
		"modal_json_extra_bad_string",
		"modal_json_extra_list",
		"modal_json_extra_list_string",
		"modal_json_env_null",
		"modal_json_env_number",
		"modal_uri_extra_key_bad_json",
		"modal_fields_extra_mixed_types",
		"modal_fields_extra_empty_object",
		"opensandbox_json_full",
		"opensandbox_json_extra_unknown_keys",
		"opensandbox_timeout_int",
		"opensandbox_timeout_float",
		"opensandbox_timeout_zero",
		"opensandbox_timeout_negative",
		"opensandbox_timeout_null",
		"opensandbox_timeout_true",
		"opensandbox_timeout_false",
		"opensandbox_timeout_list",
		"opensandbox_timeout_big",
		"opensandbox_timeout_huge",
		"opensandbox_timeout_tiny",
		"opensandbox_proxy_true",
		"opensandbox_proxy_false",
		"opensandbox_proxy_number_1",
		"opensandbox_proxy_number_0",
		"opensandbox_proxy_float_1",
		"opensandbox_proxy_null",
		"opensandbox_proxy_list",
		"opensandbox_proxy_object",
		"opensandbox_uri_extra_key",
		"opensandbox_fields_full",
	},
	"a connection without a proper type is a mistake": {
		"modal_json_no_type",
		"modal_json_type_upper",
		"modal_json_empty_object",
		"modal_json_array",
		"opensandbox_uri_underscored_type",
	},
	"a host that carries a protocol is refused: sandbox endpoints use the schema all the same": {
		"modal_uri_two_schemes",
		"opensandbox_json_host_with_protocol",
		"opensandbox_json_host_with_protocol_and_port",
		"opensandbox_json_host_with_protocol_and_schema",
		"opensandbox_uri_host_protocol_two_schemes",
		"opensandbox_uri_host_protocol_with_auth",
		"opensandbox_fields_host_with_protocol",
		"opensandbox_fields_host_with_protocol_port",
	},
	"a host in upper case changes when it is read back from a URI": {
		"opensandbox_json_host_upper",
		"opensandbox_fields_upper_host_changes_on_round_trip",
	},
	"a negative port is a mistake": {
		"opensandbox_json_port_negative",
	},
}

func TestConnectionsAreWrittenAsAirflowWritesThem(t *testing.T) {
	stricter := exceptRows(notWritten)
	for _, row := range readTable[connectionTable](t, "connections.json").Cases {
		connection, expressible := row.Read.connection()
		uri, err := connection.URI()
		if stricter.covers(row.Name) {
			if expressible && err == nil && uri == row.URI {
				t.Errorf("%s: written as Airflow does; the exception is not needed", row.Name)
			}
			continue
		}
		if !expressible || err != nil || uri != row.URI {
			t.Errorf("%s: %s, %v, Airflow writes %s", row.Name, uri, err, row.URI)
		}
		document, err := connection.JSON()
		var back Connection
		if err != nil || json.Unmarshal([]byte(document), &back) != nil {
			t.Errorf("%s: %s, %v", row.Name, document, err)
		}
		if diff := cmp.Diff(connection, back); diff != "" {
			t.Errorf("%s: the JSON document reads back differently\n%s", row.Name, diff)
		}
	}
	stricter.complete(t)
}

// connection returns the Connection that a worker reads as r. False: none is,
// since we write neither null nor anything but strings as an extra.
func (r *connectionRead) connection() (c Connection, expressible bool) {
	if r == nil || r.Description != nil {
		return c, false
	}
	if r.Extra != nil {
		var extra map[string]*string
		if json.Unmarshal([]byte(*r.Extra), &extra) != nil || len(extra) == 0 {
			return c, false
		}
		c.Extra = map[string]string{}
		for key, value := range extra {
			if value == nil {
				return c, false
			}
			c.Extra[key] = *value
		}
	}
	for field, value := range map[*string]*string{&c.Host: r.Host, &c.Login: r.Login, &c.Password: r.Password, &c.Schema: r.Schema} {
		if value != nil {
			*field = *value
		}
	}
	c.Type = r.Type
	if r.Port != nil {
		c.Port = *r.Port
	}
	return c, true
}

func TestAConnectionIDIsWhatAirflowTakes(t *testing.T) {
	for id, ok := range map[string]bool{
		"modal_default": true, "a.b-C_1": true, strings.Repeat("a", 200): true,
		"": false, "a b": false, "a/b": false, "modal\n": false, strings.Repeat("a", 201): false,
	} {
		if err := CheckConnectionID(id); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestConnectionsThatAirflowWouldMisreadAreRefused(t *testing.T) {
	const secret = "as-secret"
	for name, connection := range map[string]Connection{
		"no type":        {Password: secret},
		"type":           {Type: "Modal", Password: secret},
		"protocol":       {Type: "generic", Host: "https://sandbox.example.org", Password: secret},
		"port":           {Type: "generic", Host: "sandbox.example.org", Port: 65536, Password: secret},
		"not UTF-8":      {Type: "modal", Login: "a\xff", Password: secret},
		"not UTF-8 pair": {Type: "modal", Login: "a\xc3", Password: "\xbcb" + secret},
		"reserved extra": {Type: "modal", Password: secret, Extra: map[string]string{"__extra__": secret}},
	} {
		_, uriErr := connection.URI()
		_, jsonErr := connection.JSON()
		for _, err := range []error{uriErr, jsonErr} {
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
