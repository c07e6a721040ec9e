// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/config"
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
		DeletesPerRun: int(c.Limits.DeletesPerRun),
		RunDeadline:   time.Duration(c.Limits.RunDeadline),
		Host:          host,
		Process:       janitor.ThisProcess(),
		Gone:          janitor.ProcessGone,
	}}
	if err := a.openStore(s); err != nil {
		return nil, err
	}
	if err := s.openConnections(); err != nil {
		return nil, err
	}
	a.openAirflows(s)
	return s, nil
}

func (a *app) openStore(s *site) error {
	directory, err := config.StateDirectory(s.config.State)
	if err != nil {
		return err
	}
	if s.config.State == config.NoState {
		s.options.Store = janitor.NewMemory()
		return nil
	}
	s.state = &store.File{Directory: directory, Clock: a.clock, Log: a.log}
	s.options.Store = s.state
	return nil
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
				return cli.Usage("the connections %q and %q are the same place: each would clear what the other remembers", other, name)
			}
			scopes[scope] = name
		}
		s.options.Connections = append(s.options.Connections, c)
	}
	return nil
}
