// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

import "time"

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
