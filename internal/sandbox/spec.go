// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// DefaultWorkdir is where commands start unless the spec says otherwise;
// Airflow's Modal backend uses the same.
const DefaultWorkdir = "/workspace"

// Spec is what a user asks of a sandbox, before any backend has seen it.
// The zero value of a field means "not asked for".
type Spec struct {
	Image       string
	Workdir     string // absolute path inside; empty: DefaultWorkdir
	Env         map[string]string
	Owner       string
	Network     NetworkPolicy
	Lifetime    time.Duration
	IdleTimeout time.Duration
	CPU         float64 // cores
	MemoryMiB   int64
	GPU         string
	Region      string
	Cloud       string
}

// NetworkPolicy says what a sandbox may reach. Its zero value denies
// everything, so that forgetting it never opens a door.
type NetworkPolicy struct {
	Open               bool     // block_network = false
	AllowEgressTo      []string // hostnames; order is part of the tag's bytes
	AllowEgressToCIDRs []string // IPv4 ranges; order is part of the tag's bytes
}

// DeniesAll reports whether nothing at all may be reached.
func (p NetworkPolicy) DeniesAll() bool {
	return !p.Open && len(p.AllowEgressTo) == 0 && len(p.AllowEgressToCIDRs) == 0
}

// CheckWorkdir refuses what no sandbox can start commands in. A backend may
// refuse more.
func CheckWorkdir(dir string) error {
	if !path.IsAbs(dir) || path.Clean(dir) != dir || !carried(dir) {
		return fmt.Errorf("%q must be absolute and without . or .. or a trailing slash, such as %s", dir, DefaultWorkdir)
	}
	return nil
}

// CheckEnvKey refuses what names no environment variable on any system. A
// backend may refuse more.
func CheckEnvKey(key string) error {
	if key == "" || strings.Contains(key, "=") || !carried(key) {
		return fmt.Errorf("%q must be text that is not empty and holds neither an equals sign nor a NUL", key)
	}
	return nil
}

// CheckEnvValue refuses what no environment variable holds. Its error does not
// repeat the value, which may be a secret.
func CheckEnvValue(value string) error {
	if !carried(value) {
		return errors.New("the value of an environment variable must be UTF-8 without a NUL")
	}
	return nil
}

// carried reports whether both a vendor's API and a Linux program take text.
func carried(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
