// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// strictKinds are the rows that Airflow takes and we refuse, by reason.
var strictKinds = map[string][]string{
	"white space around a secret is the line break of a file": {
		"modal_json_spaces_count_as_filled",
		"modal_fields_every_ascii_password",
	},
	"a host that carries a protocol is used for a part of the calls only": {
		"opensandbox_json_host_with_protocol",
		"opensandbox_json_host_with_protocol_and_port",
		"opensandbox_json_host_with_protocol_and_schema",
		"opensandbox_uri_host_protocol_two_schemes",
		"opensandbox_uri_host_protocol_with_auth",
		"opensandbox_fields_host_with_protocol",
		"opensandbox_fields_host_with_protocol_port",
	},
	"such a host is a mistake": {
		"opensandbox_json_port_negative",
		"opensandbox_json_host_space",
		"opensandbox_json_host_with_port_and_port",
		"opensandbox_json_host_with_path",
		"opensandbox_json_host_ipv6",
		"opensandbox_uri_ipv6",
		"opensandbox_fields_host_with_path",
		"opensandbox_fields_ipv6",
	},
	"a connection URI has durations with a unit": {
		"opensandbox_timeout_text_exponent",
		"opensandbox_timeout_text_spaces",
		"opensandbox_timeout_text_underscore",
		"opensandbox_timeout_true",
		"opensandbox_timeout_big",
	},
	"a connection URI says true or false": {
		"opensandbox_proxy_text_True",
		"opensandbox_proxy_text_FALSE",
		"opensandbox_proxy_text_1",
		"opensandbox_proxy_text_0",
		"opensandbox_proxy_text_yes",
		"opensandbox_proxy_text_no",
		"opensandbox_proxy_text_YES_spaces",
		"opensandbox_uri_proxy_1",
		"opensandbox_uri_proxy_0",
		"opensandbox_uri_proxy_no",
		"opensandbox_fields_no_schema_extra",
	},
}

// ofKind writes the connection that row is about, from what was read of it.
func (row connectionRow) ofKind(apiKey string) (Connection, error) {
	if row.Kind == "modal" {
		environment, _ := row.Result.Environment.(string)
		return ModalConnection(cmp.Or(environment, "main"), deref(row.Read.Login), deref(row.Read.Password))
	}
	server := "opensandbox+" + cmp.Or(strings.ToLower(deref(row.Read.Schema)), "http") + "://" + deref(row.Read.Host)
	if row.Read.Port != nil && *row.Read.Port != 0 {
		server += ":" + strconv.Itoa(*row.Read.Port)
	}
	settings := url.Values{}
	var extra map[string]any
	_ = json.Unmarshal([]byte(deref(row.Read.Extra)), &extra)
	for name, unit := range map[string]string{"request_timeout": "s", "use_server_proxy": ""} {
		if value, ok := extra[name]; ok {
			settings.Set(name, fmt.Sprint(value)+unit)
		}
	}
	u, err := url.Parse(server + "?" + settings.Encode())
	if err != nil {
		return Connection{}, err
	}
	return OpenSandboxConnection(u, apiKey)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// carries reports whether c gives Airflow exactly the result.
func (c Connection) carries(kind string, result connectionResult) bool {
	if kind == "modal" {
		environment, _ := result.Environment.(string)
		return c.Login == result.TokenID && c.Password == result.TokenSecret && c.Extra["environment"] == cmp.Or(environment, "main")
	}
	domain := c.Host
	if c.Port != 0 {
		domain += ":" + strconv.Itoa(c.Port)
	}
	timeout, err := strconv.ParseFloat(cmp.Or(c.Extra["request_timeout"], "30"), 64)
	return err == nil && timeout == result.TimeoutSeconds && domain == strings.ToLower(result.Domain) &&
		c.Schema == result.Protocol && (c.Extra["use_server_proxy"] != "false") == result.ServerProxy
}

func TestAConnectionIsWrittenWhereAirflowTakesItAndRefusedWhereItWouldTakeAnother(t *testing.T) {
	stricter := exceptRows(strictKinds)
	for _, row := range readTable[connectionTable](t, "connections.json").Cases {
		result := row.Result
		if row.Read == nil {
			continue // there is nothing to write
		}
		works := result.Error == "" && result.Credentials != "ambient"
		if row.Kind == "opensandbox" && result.APIKey == "" {
			if c, err := row.ofKind(""); err == nil {
				t.Errorf("%s: written without a key: %+v", row.Name, c)
			}
		}
		c, err := row.ofKind(cmp.Or(result.APIKey, "key"))
		switch {
		case stricter.covers(row.Name):
			if err == nil {
				t.Errorf("%s: written; the exception is not needed", row.Name)
			}
		case works != (err == nil):
			t.Errorf("%s: %v, Airflow reads %+v", row.Name, err, result)
		case works && !c.carries(row.Kind, result):
			t.Errorf("%s: %+v, Airflow reads %+v", row.Name, c, result)
		}
	}
	stricter.complete(t)
}
