// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/config"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/report"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/store"
)

// site is a configuration with everything it names, ready for runs.
type site struct {
	config  config.Config
	names   []string    // of the selected connections
	state   *store.File // nil: nothing is kept
	options janitor.Options
}

// site reads the configuration and opens the selected connections: those named,
// those at uris, or else all.
func (a *app) site(names, uris []string) (*site, error) {
	c, err := a.configuration()
	if err != nil {
		return nil, err
	}
	if names, err = selection(&c, names, uris); err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	s := &site{config: c, names: names, options: janitor.Options{
		Clock:         a.clock,
		Log:           a.log,
		DeletesPerRun: c.Limits.DeletesPerRun,
		RunDeadline:   time.Duration(c.Limits.RunDeadline),
		Host:          host,
		Process:       janitor.ThisProcess(),
		Gone:          janitor.ProcessGone,
	}}
	if err := a.openStore(s); err != nil {
		return nil, err
	}
	return s, s.openConnections()
}

// configuration is what is in force: the defaults, the file, and the flags.
func (a *app) configuration() (config.Config, error) {
	c := config.Default()
	if a.configFile != "" {
		data, err := os.ReadFile(a.configFile)
		if err != nil {
			return c, usage("read the configuration: %w", err)
		}
		if c, err = config.Load(a.configFile, data, connect.Parse); err != nil {
			return c, exit{exitUsage, err}
		}
	}
	if a.mode != "" {
		mode, err := config.ParseMode(a.mode)
		if err != nil {
			return c, usage("--mode: %w", err)
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
		return c, usage("--state: %w", err)
	}
	return c, nil
}

// selection returns the names of the connections to deal with. A URI that the
// configuration knows by name is dealt with under that name and its rules.
func selection(c *config.Config, names, uris []string) ([]string, error) {
	names = slices.Clone(names)
	for _, name := range names {
		if _, ok := c.Connections[name]; !ok {
			return nil, usage("there is no connection %q; there are %s", name, list(c.Names()))
		}
	}
	for _, uri := range uris {
		if _, ok := c.Connections[uri]; ok {
			return nil, usage("%q is a connection of the configuration, not a URI: use --connection %s", uri, uri)
		}
		parsed, err := connect.Parse(uri)
		if err != nil {
			return nil, usage("%w", err)
		}
		names = append(names, nameOf(c, parsed))
	}
	if len(names) == 0 {
		names = c.Names()
	}
	if len(names) == 0 {
		return nil, usage("there is nothing to look at: give a connection URI, such as local:, or a --config with connections")
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

func (a *app) openStore(s *site) error {
	directory, err := config.StateDirectory(s.config.State)
	if err != nil {
		return err
	}
	switch s.config.State {
	case config.NoState:
		s.options.Store = janitor.NewMemory()
		return nil
	case "":
		if directory, err = defaultStateDirectory(); err != nil {
			return err
		}
	}
	s.state = &store.File{Directory: directory, Clock: a.clock, Log: a.log}
	s.options.Store = s.state
	return nil
}

// productDir is our folder below the system's or the user's state directory.
const productDir = "taskowned/janitor"

// defaultStateDirectory is where state is kept unless something else is said: the
// system's state for root, else the user's (XDG Base Directory Specification).
func defaultStateDirectory() (string, error) {
	if os.Geteuid() == 0 {
		return filepath.Join("/var/lib", productDir), nil
	}
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, productDir), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", usage("there is no home directory to keep the state in: set --state file:///DIRECTORY")
	}
	return filepath.Join(home, ".local/state", productDir), nil
}

// openConnections opens the selected connections. One that cannot be opened is
// reported by the run; two that reach the same place are a mistake.
func (s *site) openConnections() error {
	scopes := make(map[string]string)
	for _, name := range s.names {
		c := janitor.Connection{Name: name, Policy: s.config.Policy(name)}
		c.Backend, c.OpenError = connect.Open(s.config.Connections[name].Parsed, connect.Options{})
		if c.OpenError == nil {
			scope := c.Backend.Scope()
			if other, taken := scopes[scope]; taken {
				return usage("the connections %q and %q are the same place: each would clear what the other remembers", other, name)
			}
			scopes[scope] = name
		}
		s.options.Connections = append(s.options.Connections, c)
	}
	return nil
}

// program is how to call this janitor again, for the commands in reports.
func (a *app) program() string {
	program := "janitor"
	if a.configFile != "" {
		program += " --config " + quoteIfNeeded(a.configFile)
	}
	if a.state != "" {
		program += " --state " + quoteIfNeeded(a.state)
	}
	return program
}

func quoteIfNeeded(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:") == "" {
		return s
	}
	return report.Quote(s)
}

// subject splits CONNECTION#HANDLE, where CONNECTION is a name or a URI.
func subject(argument string) (connection, handle string, err error) {
	connection, handle, ok := strings.Cut(argument, "#")
	if !ok || connection == "" || handle == "" {
		return "", "", usage("want CONNECTION#HANDLE, such as 'local:#sb-1', not %q", argument)
	}
	return connection, handle, nil
}

// siteOf opens the one connection of a subject.
func (a *app) siteOf(argument string) (s *site, name, handle string, err error) {
	connection, handle, err := subject(argument)
	if err != nil {
		return nil, "", "", err
	}
	if len(a.connections) > 0 {
		return nil, "", "", usage("--connection does not go with CONNECTION#HANDLE")
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
