// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/schedule"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// NoState is the State of a janitor that remembers nothing.
const NoState = "none"

// A name is a part of "NAME#HANDLE" and must not look like a URI.
var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// check notes every mistake that the YAML alone does not show, and makes the
// URIs canonical.
func (c *Config) check(d *document, parseURI ParseURI) {
	if _, err := StateDirectory(c.State); err != nil {
		d.refuse(err.Error(), "state")
	}
	checkSchedule(d, c.Schedule, "schedule")
	checkReasons(d, maps.Keys(c.Grace), "grace")
	c.checkAirflow(d)
	c.checkConnections(d, parseURI)
	c.checkLimits(d)
	c.checkProtect(d)
}

// StateDirectory returns the directory of a file:///DIRECTORY state, or "" for
// NoState and for no state.
func StateDirectory(state string) (string, error) {
	if state == "" || state == NoState {
		return "", nil
	}
	u, err := url.Parse(state)
	if err != nil || u.Scheme != "file" || u.Opaque != "" || u.Host != "" || u.RawQuery != "" || u.Fragment != "" || !filepath.IsAbs(u.Path) {
		return "", fmt.Errorf("want file:///ABSOLUTE/DIRECTORY or %s, not %q", NoState, state)
	}
	return filepath.Clean(u.Path), nil
}

// StateOf returns the state that is kept in directory, as StateDirectory reads it.
func StateOf(directory string) string { return (&url.URL{Scheme: "file", Path: directory}).String() }

func checkSchedule(d *document, line string, path ...string) {
	if _, err := schedule.Parse(line); err != nil {
		d.refuse(err.Error(), path...)
	}
}

func checkReasons(d *document, reasons func(func(verdict.Reason) bool), path ...string) {
	var known []string
	for _, rule := range verdict.Rules() {
		known = append(known, string(rule.Reason))
	}
	for reason := range reasons {
		if !slices.Contains(known, string(reason)) {
			d.refuse("unknown reason"+suggest(string(reason), known), append(slices.Clone(path), string(reason))...)
		}
	}
}

func (c *Config) checkConnections(d *document, parseURI ParseURI) {
	places := make(map[string]string) // of connections, by location and credentials
	for _, name := range c.Names() {
		connection := c.Connections[name]
		at := []string{"connections", name}
		if !validName.MatchString(name) {
			d.refuse("a connection's name has letters, digits, dashes and underscores only", at...)
		}
		if connection.Schedule != "" {
			checkSchedule(d, connection.Schedule, append(at, "schedule")...)
		}
		checkReasons(d, maps.Keys(connection.Rules), append(at, "rules")...)
		c.checkWitness(d, connection, at)
		if connection.URI == "" {
			d.refuse("a connection needs its uri", at...)
			continue
		}
		parsed, err := parseURI(connection.URI)
		if err != nil {
			d.refuse(err.Error(), append(at, "uri")...)
			continue
		}
		place := parsed.Location() + " " + parsed.CredentialsName()
		if other, taken := places[place]; taken {
			d.refuse(fmt.Sprintf("the same place as the connection %q; each would clear what the other remembers", other), append(at, "uri")...)
		}
		places[place] = name
		connection.URI, connection.Parsed = parsed.String(), parsed
		c.Connections[name] = connection
	}
}

func (c *Config) checkLimits(d *document) {
	if c.Limits.DeletesPerRun < 1 {
		d.refuse("must be at least 1; to destroy nothing, set mode: report", "limits", "deletes_per_run")
	}
	if !(c.Limits.Share > 0 && c.Limits.Share <= 1) {
		d.refuse("must be more than 0 and at most 1", "limits", "share")
	}
	if deadline := time.Duration(c.Limits.RunDeadline); deadline > janitor.MaxRunDeadline {
		d.refuse("must be at most "+Duration(janitor.MaxRunDeadline).String(), "limits", "run_deadline")
	}
}

// checkProtect refuses what would protect nothing.
func (c *Config) checkProtect(d *document) {
	for i, owner := range c.Protect.Owners {
		if owner == "" {
			d.refuse("an empty pattern protects nothing", "protect", "owners", strconv.Itoa(i))
		}
	}
	for i, handle := range c.Protect.Handles {
		name, rest, _ := strings.Cut(handle, "#")
		_, known := c.Connections[name]
		switch at := []string{"protect", "handles", strconv.Itoa(i)}; {
		case rest == "":
			d.refuse(fmt.Sprintf("want CONNECTION#HANDLE, not %q", handle), at...)
		case !known:
			d.refuse(fmt.Sprintf("no connection is named %q", name)+suggest(name, c.Names()), at...)
		}
	}
}
