// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"cmp"
	"fmt"
	"path/filepath"
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
	if err := cmp.Or(h.checkImage(spec.Image), checkHostWorkdir(spec)); err != nil {
		refuse(true, "image", err.Error())
	}
	if err := engine.CheckWorkdir(cmp.Or(spec.Workdir, engine.DefaultWorkdir), false); err != nil {
		refuse(true, "workdir", err.Error())
	}
	if err := engine.CheckEnv(spec.Env); err != nil {
		refuse(true, "env", err.Error())
	}
	return refusals
}

// checkHostWorkdir refuses a workdir in what only an image of its own leaves
// free. That is a refusal of the image, which may be unknown when planning.
func checkHostWorkdir(spec sandbox.Spec) error {
	if cmp.Or(spec.Image, hostImage) != hostImage {
		return nil
	}
	workdir := cmp.Or(spec.Workdir, engine.DefaultWorkdir)
	withAny, withHost := engine.CheckWorkdir(workdir, false), engine.CheckWorkdir(workdir, true)
	if withAny == nil && withHost != nil {
		return fmt.Errorf("with the image %q, the %w", hostImage, withHost)
	}
	return nil
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
	} else if err := h.checkRoot(spec.From); err != nil {
		refusals = append(refusals, backend.Refusal{Attribute: "from", Reason: err.Error()})
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
