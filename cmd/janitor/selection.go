// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/config"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/report"
	"github.com/taskowned/terraform-provider-sandbox/internal/statedir"
)

// configuration is what is in force: the defaults, the file, and the flags.
func (a *app) configuration() (config.Config, error) {
	c := config.Default()
	if a.configFile != "" {
		data, err := os.ReadFile(a.configFile)
		if err != nil {
			return c, cli.Usage("read the configuration: %w", err)
		}
		if c, err = config.Load(a.configFile, data, connect.Parse); err != nil {
			return c, exit{cli.ExitUsage, err}
		}
	}
	if a.mode != "" {
		mode, err := config.ParseMode(a.mode)
		if err != nil {
			return c, cli.Usage("--mode: %w", err)
		}
		if a.configFile == "" {
			c.Mode = mode // nobody else says what it is
		}
		c.Mode = min(c.Mode, mode)
	}
	if a.state != "" {
		c.State = a.state
	}
	if _, err := config.StateDirectory(c.State); err != nil {
		return c, cli.Usage("--state: %w", err)
	}
	if c.State == "" {
		directory, err := statedir.Default("janitor")
		if err != nil {
			return c, cli.Usage("keep the state: %w; set --state file:///DIRECTORY", err)
		}
		c.State = config.StateOf(directory)
	}
	return c, nil
}

// selection returns the names of the connections to deal with. A URI that the
// configuration knows by name is dealt with under that name and its rules.
func selection(c *config.Config, names, uris []string) ([]string, error) {
	names = slices.Clone(names)
	for _, name := range names {
		if _, ok := c.Connections[name]; !ok {
			if len(c.Connections) == 0 {
				return nil, cli.Usage("there is no connection %q: name the configuration that has it, with --config", name)
			}
			return nil, cli.Usage("there is no connection %q: the configuration has %s", name, list(c.Names()))
		}
	}
	configured := c.Names() // nameOf adds to them
	for _, uri := range uris {
		if slices.Contains(configured, uri) {
			return nil, cli.Usage("%q is a connection of the configuration, not a URI: use --connection %s", uri, uri)
		}
		parsed, err := connect.Parse(uri)
		if err != nil {
			return nil, cli.Usage("%w", err)
		}
		names = append(names, nameOf(c, parsed))
	}
	if len(names) == 0 {
		names = c.Names()
	}
	if len(names) == 0 {
		return nil, cli.Usage("there is nothing to look at: give a connection URI, such as local:, or a --config with connections")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func nameOf(c *config.Config, parsed backend.Connection) string {
	for _, name := range c.Names() {
		known := c.Connections[name].Parsed
		if backend.SameLocation(known, parsed) && known.CredentialsName() == parsed.CredentialsName() {
			return name
		}
	}
	c.Add(parsed.String(), parsed)
	return parsed.String()
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// program is how to call this janitor again, for the commands in reports.
func (a *app) program() string {
	program := "janitor"
	for _, flag := range []struct{ name, value string }{{"config", a.configFile}, {"state", a.state}, {"mode", a.mode}} {
		if flag.value != "" {
			program += " --" + flag.name + " " + report.Quote(flag.value)
		}
	}
	return program
}

// subject is CONNECTION HANDLE, or CONNECTION#HANDLE as reports have it, where
// CONNECTION is a name or a URI.
func subject(arguments []string) (connection, handle string, err error) {
	switch len(arguments) {
	case 1:
		connection, handle, _ = strings.Cut(arguments[0], "#")
	case 2:
		connection, handle = arguments[0], arguments[1]
	}
	if connection == "" || handle == "" {
		return "", "", cli.Usage("want CONNECTION HANDLE, such as local: taskowned-4odwe3, or CONNECTION#HANDLE, not %q", strings.Join(arguments, " "))
	}
	return connection, handle, nil
}

// siteOf opens the one connection of a subject.
func (a *app) siteOf(arguments []string) (s *site, name, handle string, err error) {
	connection, handle, err := subject(arguments)
	if err != nil {
		return nil, "", "", err
	}
	if len(a.connections) > 0 {
		return nil, "", "", cli.Usage("--connection does not go with CONNECTION HANDLE")
	}
	if strings.Contains(connection, ":") {
		s, err = a.site(nil, []string{connection})
	} else {
		s, err = a.site([]string{connection}, nil)
	}
	if err != nil {
		return nil, "", "", err
	}
	return s, s.names[0], handle, nil
}
