// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"context"

	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// DryRunner is an ability that some backends have: to tell beforehand that a
// call would fail, so that nothing is destroyed for what cannot take its place.
// A dry run looks and makes nothing. Its errors are those of the call itself; nil
// is no promise.
type DryRunner interface {
	// DryRunPrepare says why Prepare would fail for the place as it is.
	DryRunPrepare(context.Context) error
	// DryRunCreate says why Create would fail for image and workdir of the spec,
	// Prepare included; nothing else in the spec is looked at.
	DryRunCreate(context.Context, sandbox.Spec) error
	// DryRunBuildImage says why BuildImage would fail for what it is to read.
	DryRunBuildImage(context.Context, ImageSpec) error
}
