// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// OpenSandboxConnection is what Airflow's OpenSandboxBackend reads as this server
// (airflow/providers/common/ai/sandbox/opensandbox.py). The server is written as a
// connection URI: opensandbox+https://HOST:PORT?request_timeout=30s&use_server_proxy=true.
func OpenSandboxConnection(server *url.URL, apiKey string) (Connection, error) {
	protocol, ok := strings.CutPrefix(server.Scheme, "opensandbox+")
	switch {
	case !ok || protocol != "http" && protocol != "https":
		return Connection{}, errors.New("an OpenSandbox server is opensandbox+http:// or opensandbox+https://, and its host")
	case server.Hostname() == "":
		return Connection{}, errors.New("the OpenSandbox server has no host")
	case strings.Contains(server.Hostname(), ":") && !strings.HasPrefix(server.Host, "["):
		return Connection{}, fmt.Errorf("%q has more than one port; the address of IPv6 stands in brackets", server.Host)
	case server.User != nil || server.Fragment != "" || strings.Trim(server.Path, "/") != "":
		return Connection{}, errors.New("an OpenSandbox server is a host and a port, and settings after ?; nothing else is read")
	case apiKey == "":
		return Connection{}, errors.New("api_key is empty: Airflow would send the server the OPEN_SANDBOX_API_KEY of its worker; " +
			"for a server that asks for no key, write any word")
	}
	if err := checkSecret("api_key", apiKey); err != nil {
		return Connection{}, err
	}
	port, err := openSandboxPort(server.Port())
	if err != nil {
		return Connection{}, err
	}
	extra, err := openSandboxExtra(server.Query())
	if err != nil {
		return Connection{}, err
	}
	host := strings.TrimSuffix(strings.ToLower(server.Host), ":"+server.Port()) // with the brackets of an IPv6 address
	return Connection{Type: "generic", Host: host, Port: port, Schema: protocol, Password: apiKey, Extra: extra}, nil
}

// openSandboxPort: Airflow takes port 0 for none.
func openSandboxPort(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, fmt.Errorf("%s is no port", text)
	}
	return int(port), nil
}

// openSandboxExtra writes as strings what Airflow reads as numbers and truths,
// so that JSON and URI read alike.
func openSandboxExtra(settings url.Values) (map[string]string, error) {
	extra := map[string]string{}
	for setting := range settings {
		value := settings.Get(setting)
		switch setting {
		case "request_timeout":
			timeout, err := time.ParseDuration(value)
			if err != nil || timeout < time.Millisecond {
				return nil, fmt.Errorf("request_timeout %q is no duration of at least 1ms, such as 30s", value)
			}
			extra[setting] = strconv.FormatFloat(timeout.Seconds(), 'f', -1, 64)
		case "use_server_proxy":
			if value != "true" && value != "false" {
				return nil, fmt.Errorf("use_server_proxy %q is neither true nor false", value)
			}
			extra[setting] = value
		case "credentials", "deployment": // are Terraform's
		default:
			return nil, fmt.Errorf("unknown setting %q of an OpenSandbox server; there are request_timeout and use_server_proxy", setting)
		}
	}
	return extra, nil
}
