// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

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
	return refusals
}
