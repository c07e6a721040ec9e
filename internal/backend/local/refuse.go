// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"fmt"
	"path"
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
	var refusals []backend.Refusal
	refuse := func(when bool, attribute, reason string) {
		if when {
			refusals = append(refusals, backend.Refusal{Attribute: attribute, Reason: reason})
		}
	}
	refuse(len(spec.Network.AllowEgressTo) > 0, "network_policy",
		"allow_egress_to cannot be enforced on this host: names resolve to shared, changing addresses; use block_network alone")
	refuse(len(spec.Network.AllowEgressToCIDRs) > 0, "network_policy",
		"allow_egress_to_cidrs cannot be enforced on this host without a network helper; use block_network alone")
	refuse(spec.CPU != 0, "cpu", "local sandboxes share the host's processors without a limit")
	refuse(spec.MemoryMiB != 0, "memory_mib", "local sandboxes share the host's memory without a limit")
	refuse(spec.GPU != "", "gpu", "local sandboxes see no device of the host")
	refuse(spec.Region != "", "region", "local sandboxes are on this host")
	refuse(spec.Cloud != "", "cloud", "local sandboxes are on this host")
	refuse(spec.IdleTimeout != 0, "idle_timeout", "nothing runs between two commands of a local sandbox, so nothing can be idle")
	refuse(spec.Lifetime != 0 && (spec.Lifetime < lifetimeMin || spec.Lifetime > lifetimeMax), "lifetime",
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

// systemDirs are mounted by the engine itself, so that a workdir there would
// hide them or be hidden.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/proc", "/dev", "/sys", "/run", "/tmp"}

func checkWorkdir(dir string) error {
	switch {
	case dir == "":
		return nil
	case !path.IsAbs(dir) || path.Clean(dir) != dir || dir == "/":
		return fmt.Errorf("%q is not a clean absolute path below /", dir)
	case strings.ContainsRune(dir, 0):
		return fmt.Errorf("%q holds a NUL byte", dir)
	case slices.Contains(systemDirs, "/"+strings.Split(dir, "/")[1]):
		return fmt.Errorf("%q is part of the system", dir)
	}
	return nil
}

func checkEnv(env map[string]string) error {
	for key, value := range env {
		if key == "" || strings.ContainsAny(key, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("%q is not an environment variable: a name has no = and neither part a NUL byte", key)
		}
	}
	return nil
}
