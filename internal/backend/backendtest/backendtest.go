// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package backendtest holds the promises of backend.Backend as a test suite.
// Each subtest bears the name of one promise. What a backend says it can do
// decides which promises are tested; a promise that cannot be tested somewhere
// is skipped with the reason, never passed.
//
// It runs on a real account as well: every sandbox has a unique name, a short
// lifetime and the tag TagSuite, is destroyed at the end of its subtest, and
// sandboxes of others are neither touched nor counted.
package backendtest

import (
	"slices"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// TagSuite is on every sandbox that the suite makes, with the value "true".
const TagSuite = "conformance"

// Factory makes the backend under test. The optional fields open up promises
// that the suite cannot set the stage for by itself.
type Factory struct {
	// Open opens the backend over caller. It is called often, and within one Run
	// it always reaches the same place.
	Open func(t *testing.T, caller *backend.Caller) backend.Backend
	// Spec is what the plainest sandbox needs here. Lifetime 0: ten minutes, or
	// the nearest that the backend allows.
	Spec sandbox.Spec
	// Elsewhere opens another location of the same vendor.
	Elsewhere func(t *testing.T, caller *backend.Caller) backend.Backend
	// Advance moves the backend's clock forward. Without it the suite waits,
	// where the shortest lifetime is at most a minute.
	Advance func(t *testing.T, d time.Duration)
	// Image is what to build where the backend is an ImageBuilder.
	Image backend.ImageSpec
	// OutlivesCaller says that a command given up runs on until its timeout,
	// because the vendor has no call that ends one.
	OutlivesCaller bool
	// Reach is a command that succeeds where the network is open and fails where
	// it is blocked.
	Reach []string
	// Leave leaves one leftover behind, as a crash would.
	Leave func(t *testing.T)
	// Without names the sections of the suite to leave out, where a place is
	// tested in many variants that they do not touch.
	Without []string
}

var sections = []struct {
	name string
	test func(*testing.T, *place)
}{
	{"check", testCheck},
	{"lifecycle", testLifecycle},
	{"tags", testTags},
	{"listing", testListing},
	{"refusals", testRefusals},
	{"commands", testCommands},
	{"files", testFiles},
	{"lost replies", testLostReplies},
	{"given up", testGivenUp},
	{"broken connection", testBrokenConnection},
	{"end of life", testEndOfLife},
	{"leftovers", testLeftovers},
	{"images", testImages},
	{"network", testNetwork},
	{"concurrent use", testConcurrentUse},
}

// Run tests every promise.
func Run(t *testing.T, f Factory) {
	left := slices.Clone(f.Without)
	for _, section := range sections {
		if at := slices.Index(left, section.name); at >= 0 {
			left = slices.Delete(left, at, at+1)
			continue
		}
		t.Run(section.name, func(t *testing.T) { section.test(t, open(t, f)) })
	}
	if len(left) > 0 {
		t.Errorf("the suite has no sections %q", left)
	}
}
