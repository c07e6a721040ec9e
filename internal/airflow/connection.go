// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Connection is an Airflow connection as a document for AIRFLOW_CONN_<ID> or a
// secrets backend. Only what Airflow reads back unchanged, on a worker and on
// its server, can be written: an empty field is left out and every extra is a
// string.
type Connection struct {
	Type     string            `json:"conn_type"` // such as "modal" or "generic"
	Host     string            `json:"host,omitempty"`
	Login    string            `json:"login,omitempty"`
	Password string            `json:"password,omitempty"`
	Schema   string            `json:"schema,omitempty"`
	Port     int               `json:"port,omitempty"`
	Extra    map[string]string `json:"extra,omitempty"`
}

// JSON writes c as a JSON document, the form to prefer: it needs no escaping
// that a person could get wrong.
func (c Connection) JSON() (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	document, err := json.Marshal(c)
	return string(document), err
}

// URI writes c as a URI, byte for byte as Airflow's get_uri does.
func (c Connection) URI() (string, error) {
	if err := c.check(); err != nil {
		return "", err
	}
	if c.Host != strings.ToLower(c.Host) {
		return "", fmt.Errorf("the host %q would be read in lower case from a URI; write it so, or use JSON", c.Host)
	}
	var b strings.Builder
	b.WriteString(strings.ReplaceAll(c.Type, "_", "-") + "://" + quote(c.Login))
	if c.Password != "" {
		b.WriteString(":" + quote(c.Password))
	}
	account := c.Login != "" || c.Password != ""
	if account || c.Host == "" && c.Port != 0 {
		b.WriteByte('@')
	}
	b.WriteString(quote(c.Host))
	if c.Port != 0 {
		b.WriteString(":" + strconv.Itoa(c.Port))
	}
	if c.Schema != "" || len(c.Extra) > 0 {
		b.WriteString("/" + quote(c.Schema))
	}
	if len(c.Extra) > 0 {
		values := url.Values{}
		for key, value := range c.Extra {
			values.Set(key, value)
		}
		b.WriteString("?" + values.Encode())
	}
	return b.String(), nil
}

// quote escapes all but letters, digits and "_.-~".
func quote(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// connectionID is what the API takes, without the letters of other scripts
// (airflow/api_fastapi/core_api/datamodels/connections.py).
var connectionID = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,200}$`)

// CheckConnectionID refuses what Airflow does not take as the id of a connection.
func CheckConnectionID(id string) error {
	if !connectionID.MatchString(id) {
		return fmt.Errorf("%s cannot be a connection id: it is 1 to 200 letters, digits, underscores, dots and dashes", abbreviate(id))
	}
	return nil
}

var connectionType = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// check names no value but the host: the others are secrets, or may be.
func (c Connection) check() error {
	switch {
	case !connectionType.MatchString(c.Type):
		return fmt.Errorf("%q is no connection type: it is lower-case letters, digits and underscores", c.Type)
	case strings.Contains(c.Host, "://"):
		return fmt.Errorf("the host %q carries a protocol; write the bare name, and the protocol as schema", c.Host)
	case c.Port < 0 || c.Port > 65535:
		return fmt.Errorf("%d is no port", c.Port)
	}
	texts := slices.Concat([]string{c.Host, c.Login, c.Password, c.Schema}, slices.Collect(maps.Keys(c.Extra)), slices.Collect(maps.Values(c.Extra)))
	if slices.ContainsFunc(texts, func(s string) bool { return !utf8.ValidString(s) }) {
		return errors.New("a field of the connection is not valid UTF-8")
	}
	if _, ok := c.Extra["__extra__"]; ok {
		return errors.New("the extra __extra__ is reserved: in a URI it replaces all others")
	}
	return nil
}
