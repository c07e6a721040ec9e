// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// The bounds of a lifetime. Nothing enforces the upper one but this list: a
// forgotten directory costs disk, so a month is enough.
const (
	lifetimeMin = time.Second
	lifetimeMax = 30 * 24 * time.Hour
)

// Capabilities are those of bubblewrap without a network helper or a writable
// cgroup, and of plain files.
func (h *host) Capabilities() backend.Capabilities {
	return backend.Capabilities{
		OpenNetwork:     true,
		BlockNetwork:    true,
		LifetimeMin:     lifetimeMin,
		LifetimeMax:     lifetimeMax,
		Identity:        true,
		Tags:            backend.TagsEditable,
		DefaultImage:    hostImage,
		DefaultWorkdir:  engine.DefaultWorkdir,
		WaitGoneTimeout: stopWithin,
	}
}

// Refuse lists what would be accepted and ignored otherwise.
func (h *host) Refuse(spec sandbox.Spec) []backend.Refusal {
	refusals := refuseNetwork(spec.Network)
	refuse := func(when bool, attribute, reason string) {
		if when {
			refusals = append(refusals, backend.Refusal{Attribute: attribute, Reason: reason})
		}
	}
	refuse(spec.CPU != 0, "cpu", "local sandboxes share the host's processors without a limit")
	refuse(spec.MemoryMiB != 0, "memory_mib", "local sandboxes share the host's memory without a limit")
	refuse(spec.GPU != "", "gpu", "local sandboxes see no device of the host")
	refuse(spec.Region != "", "region", "local sandboxes are on this host")
	refuse(spec.Cloud != "", "cloud", "local sandboxes are on this host")
	refuse(spec.IdleTimeout != 0, "idle_timeout", "nothing runs between two commands of a local sandbox, so nothing can be idle")
	refuse(spec.Lifetime < lifetimeMin || spec.Lifetime > lifetimeMax, "lifetime",
		fmt.Sprintf("%s is outside %s to %s", spec.Lifetime, lifetimeMin, lifetimeMax))
	if err := checkWorkdir(spec.Workdir); err != nil {
		refuse(true, "workdir", err.Error())
	}
	if err := checkImage(spec.Image); err != nil {
		refuse(true, "image", err.Error())
	}
	if err := checkEnv(spec.Env); err != nil {
		refuse(true, "env", err.Error())
	}
	return refusals
}

func refuseNetwork(policy sandbox.NetworkPolicy) []backend.Refusal {
	var refusals []backend.Refusal
	if len(policy.AllowEgressTo) > 0 {
		refusals = append(refusals, backend.Refusal{Attribute: "network_policy",
			Reason: "allow_egress_to cannot be enforced on this host: names resolve to shared, changing addresses; use block_network alone"})
	}
	if len(policy.AllowEgressToCIDRs) > 0 {
		refusals = append(refusals, backend.Refusal{Attribute: "network_policy",
			Reason: "allow_egress_to_cidrs cannot be enforced on this host without a network helper; use block_network alone"})
	}
	return refusals
}

// RefuseImage lists what could only be ignored: nothing on this host runs a
// Dockerfile or reads a registry.
func (h *host) RefuseImage(spec backend.ImageSpec) []backend.Refusal {
	var refusals []backend.Refusal
	if spec.From != hostImage && (!filepath.IsAbs(spec.From) || strings.ContainsRune(spec.From, 0)) {
		refusals = append(refusals, backend.Refusal{Attribute: "from", Reason: fmt.Sprintf(
			"%q is neither %q nor the absolute path of a root file system, a directory or a tarball; a registry cannot be read on this host", spec.From, hostImage)})
	}
	if len(spec.Commands) > 0 {
		refusals = append(refusals, backend.Refusal{Attribute: "dockerfile_commands",
			Reason: "nothing on this host runs Dockerfile commands; build the root file system elsewhere, such as with docker build and docker export, and name it in from"})
	}
	if spec.Registry != nil {
		refusals = append(refusals, backend.Refusal{Attribute: "registry_username", Reason: "a registry cannot be read on this host; leave the login out"})
	}
	if len(spec.Secrets) > 0 {
		refusals = append(refusals, backend.Refusal{Attribute: "secrets_wo", Reason: "nothing on this host runs Dockerfile commands, which could use secrets; leave them out"})
	}
	return refusals
}

// systemDirs belong to the system inside, as package engine lays it out; it
// would refuse every command of a sandbox whose workdir is in one of them.
var systemDirs = []string{"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "sys", "usr"}

func checkWorkdir(dir string) error {
	if dir == "" {
		return nil
	}
	if !path.IsAbs(dir) || path.Clean(dir) != dir || strings.ContainsRune(dir, 0) {
		return fmt.Errorf("%q is not a clean absolute path", dir)
	}
	if top := strings.Split(dir, "/")[1]; slices.Contains(systemDirs, top) || slices.Contains([]string{"/", "/run", "/tmp"}, dir) {
		return fmt.Errorf("%q is part of the system inside", dir)
	}
	return nil
}

// maxVariable is the longest variable that Linux passes to a program, in bytes,
// without its NUL (MAX_ARG_STRLEN).
const maxVariable = 128<<10 - 1

func checkEnv(env map[string]string) error {
	for key, value := range env {
		if len(key)+len("=")+len(value) > maxVariable {
			return fmt.Errorf("%q is longer than the %d bytes that Linux passes to a program; write it to a file instead", key, maxVariable)
		}
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("%q is not an environment variable: a name has no = and neither part a NUL byte", key)
		}
	}
	return nil
}
