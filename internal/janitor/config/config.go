// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package config reads the janitor's one YAML file. It is strict: an unknown
// key, a duration without its unit, a reason that does not exist or a protected
// handle of a connection that is not there is an error with its line and
// column, because a slip in such a file either destroys too much or leaves
// leaks. The defaults are in Default and nowhere else.
package config

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Config is what is in force.
type Config struct {
	Mode        Mode                        `yaml:"mode"`              // the most that any rule may do
	State       string                      `yaml:"state"`             // file:///DIRECTORY or none; empty: the user's state directory
	Schedule    string                      `yaml:"schedule"`          // of connections without their own; a cron line, UTC
	Airflow     map[string]Airflow          `yaml:"airflow,omitempty"` // by name
	Connections map[string]Connection       `yaml:"connections"`       // by name
	Grace       map[verdict.Reason]Duration `yaml:"grace"`             // by reason, all of them
	Limits      Limits                      `yaml:"limits"`
	Protect     Protect                     `yaml:"protect,omitempty"`
}

// Connection is one place to sweep.
type Connection struct {
	URI      string `yaml:"uri"` // canonical
	Schedule string `yaml:"schedule,omitempty"`
	// Airflow names the deployment that is believed about the sandboxes here that
	// bear its tag, and where it is Exclusive about those that bear none, too.
	Airflow   string `yaml:"airflow,omitempty"`
	Exclusive bool   `yaml:"exclusive,omitempty"`
	// TrustHostClock says that this machine's clock is kept right, for a place that
	// does not tell its own.
	TrustHostClock bool                    `yaml:"trust_host_clock,omitempty"`
	Rules          map[verdict.Reason]Mode `yaml:"rules"` // by reason, all of them

	// Parsed is URI, ready to open.
	Parsed backend.Connection `yaml:"-"`
}

// Limits bound what one run may do.
type Limits struct {
	DeletesPerRun Count    `yaml:"deletes_per_run"` // over all connections
	Share         float64  `yaml:"share"`           // of one connection's listing, for deletions whose proof has no date of its own
	RunDeadline   Duration `yaml:"run_deadline"`    // nothing is begun after it
}

// Protect names what is kept whatever the reasons.
type Protect struct {
	Owners  []string          `yaml:"owners,omitempty"`  // patterns; * is any run of characters
	Tags    map[string]string `yaml:"tags,omitempty"`    // one of these is enough
	Handles []string          `yaml:"handles,omitempty"` // CONNECTION#HANDLE
}

// ParseURI makes the canonical connection of a URI; it is connect.Parse.
type ParseURI func(string) (backend.Connection, error)

// Default returns the configuration that is in force without a file.
func Default() Config {
	c := Config{
		Mode:        Mode(verdict.Report),
		Schedule:    "*/10 * * * *",
		Connections: map[string]Connection{},
		Limits: Limits{
			DeletesPerRun: janitor.DefaultDeletesPerRun,
			Share:         verdict.DefaultShare,
			RunDeadline:   Duration(janitor.DefaultRunDeadline),
		},
	}
	c.fill()
	return c
}

// Load reads a file's content. The error joins every Problem of the file.
func Load(file string, data []byte, parseURI ParseURI) (Config, error) {
	c := Default()
	d, err := parse(file, data)
	if err != nil {
		return Config{}, err
	}
	if err := d.decode(&c); err != nil {
		return Config{}, err
	}
	c.fill()
	c.check(d, parseURI)
	if err := d.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// Add adds a connection that no file names, under the rules' own modes.
func (c *Config) Add(name string, parsed backend.Connection) {
	c.Connections[name] = Connection{URI: parsed.String(), Parsed: parsed}
	c.fill()
}

// fill completes the maps by reason with what the rules themselves say.
func (c *Config) fill() {
	graces := make(map[verdict.Reason]Duration)
	for _, rule := range verdict.Rules() {
		graces[rule.Reason] = Duration(rule.Grace)
	}
	maps.Copy(graces, c.Grace)
	c.Grace = graces
	if c.Connections == nil {
		c.Connections = map[string]Connection{}
	}
	for name, connection := range c.Connections {
		modes := make(map[verdict.Reason]Mode)
		for _, rule := range verdict.Rules() {
			modes[rule.Reason] = Mode(rule.Mode)
		}
		maps.Copy(modes, connection.Rules)
		connection.Rules = modes
		c.Connections[name] = connection
	}
}

// Names returns the connections' names, sorted.
func (c Config) Names() []string { return slices.Sorted(maps.Keys(c.Connections)) }

// ScheduleOf returns the cron line of a connection.
func (c Config) ScheduleOf(name string) string {
	if own := c.Connections[name].Schedule; own != "" {
		return own
	}
	return c.Schedule
}

// Policy returns what is in force for a connection.
func (c Config) Policy(name string) verdict.Policy {
	p := verdict.Policy{
		Connection: name,
		Mode:       verdict.Mode(c.Mode),
		Modes:      make(map[verdict.Reason]verdict.Mode),
		Graces:     make(map[verdict.Reason]time.Duration),
		Protect:    verdict.Protection(c.Protect),
		Airflow:    c.witness(c.Connections[name]),
		Share:      c.Limits.Share,

		TrustHostClock: c.Connections[name].TrustHostClock,
	}
	for reason, mode := range c.Connections[name].Rules {
		p.Modes[reason] = verdict.Mode(mode)
	}
	for reason, grace := range c.Grace {
		p.Graces[reason] = time.Duration(grace)
	}
	return p
}

// YAML returns the configuration in a form that Load reads to the same effect.
func (c Config) YAML() ([]byte, error) {
	return yaml.MarshalWithOptions(c, yaml.IndentSequence(true), yaml.UseSingleQuote(false))
}

// MarshalJSON writes what YAML writes, durations and modes in their written form.
func (c Config) MarshalJSON() ([]byte, error) {
	text, err := c.YAML()
	if err != nil {
		return nil, err
	}
	var document map[string]any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	return json.Marshal(document)
}
