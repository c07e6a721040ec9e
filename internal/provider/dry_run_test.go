// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// survives is a step that must fail when planning, and one that shows that the
// sandbox of the step before stands as it was.
func (w *world) survives(handle *string, good, bad resource.TestStep) []resource.TestStep {
	good.ConfigPlanChecks = resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	good.Check = func(*terraform.State) error {
		if now := w.only().Handle; now != *handle {
			return fmt.Errorf("the sandbox was %s, now %s", *handle, now)
		}
		return nil
	}
	return []resource.TestStep{bad, good}
}

func (w *world) noting(handle *string) resource.TestCheckFunc {
	return func(*terraform.State) error { *handle = w.only().Handle; return nil }
}

// onImage is an instance on sandbox_image.it.
func (w *world) onImage(from string) string {
	return w.image(from) + w.instance(`image = sandbox_image.it.reference`)
}

func (w *world) beside(name string) string { return filepath.Join(filepath.Dir(w.dir), name) }

func TestRunningSandboxOutlivesAnImageThatDoesNotBuild(t *testing.T) {
	w := newWorld(t)
	good := w.onImage(w.rootfs("good.tar", "good"))
	whole, err := os.ReadFile(w.rootfs("whole.tar", strings.Repeat("whole ", 1000)))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"torn.tar": whole[:3000], "words.tar": []byte("no tarball at all")} {
		if err := os.WriteFile(w.beside(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var handle string
	steps := []resource.TestStep{{Config: good, Check: w.noting(&handle)}}
	for from, reason := range map[string]string{
		w.beside("missing.tar"): "no such file", w.beside("torn.tar"): "unexpected EOF", w.beside("words.tar"): "not a tarball",
	} {
		steps = append(steps, w.survives(&handle, resource.TestStep{Config: good},
			resource.TestStep{Config: w.onImage(from), ExpectError: regexp.MustCompile(`(?s)Image\s+cannot\s+be\s+built.*` + spaced(reason))})...)
	}
	w.run(steps...)
}

func TestRunningSandboxOutlivesAForcedReplacementOfItsImageThatDoesNotBuild(t *testing.T) {
	w := newWorld(t)
	from := w.rootfs("rootfs.tar", "x")
	config := w.onImage(from)
	var handle string
	w.run(
		resource.TestStep{Config: config, Check: w.noting(&handle)},
		resource.TestStep{
			PreConfig: func() {
				if err := os.Remove(from); err != nil {
					t.Fatal(err)
				}
			},
			Config: config, Taint: []string{image}, ExpectError: regexp.MustCompile(`Image\s+cannot\s+be\s+built`),
		},
		resource.TestStep{
			PreConfig: func() {
				if now := w.only().Handle; now != handle {
					t.Errorf("the sandbox was %s, now %s", handle, now)
				}
				w.rootfs("rootfs.tar", "x")
			},
			Config: config,
		},
	)
}

func TestSandboxCreatedBeforeItIsDestroyedOutlivesABuildThatFailsAfterAll(t *testing.T) {
	w := newWorld(t)
	first := func(config string) string {
		return strings.Replace(config, "lifetime ", "lifecycle { create_before_destroy = true }\n  lifetime ", 1)
	}
	good, other := first(w.onImage(w.rootfs("good.tar", "good"))), first(w.onImage(w.rootfs("other.tar", "other")))
	var handle string
	w.run(append([]resource.TestStep{{Config: good, Check: w.noting(&handle)}}, w.survives(&handle,
		resource.TestStep{PreConfig: w.failing(""), Config: good},
		resource.TestStep{
			PreConfig:   w.failing("build-image"),
			Config:      other,
			ExpectError: regexp.MustCompile(`(?s)Image\s+cannot\s+be\s+built.*the\s+disk\s+said\s+no`),
		})...)...)
}

func TestRunningSandboxOutlivesAnImagePathThatLeadsNowhere(t *testing.T) {
	w := newWorld(t)
	var handle string
	w.run(append([]resource.TestStep{{Config: w.instance(), Check: w.noting(&handle)}}, w.survives(&handle,
		resource.TestStep{Config: w.instance()},
		resource.TestStep{
			Config:      w.instance(fmt.Sprintf("image = %q", w.beside("nowhere"))),
			ExpectError: regexp.MustCompile(`(?s)image\s+would\s+replace\s+this\s+sandbox.*does\s+not\s+exist`),
		})...)...)
}

func TestRunningSandboxOutlivesAPlaceThatCannotBeOne(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make func(place string) error
		want string
	}{
		"a file":              {func(place string) error { return os.WriteFile(place, nil, 0o600) }, "not a directory"},
		"a link":              {func(place string) error { return os.Symlink(filepath.Dir(place), place) }, "is a link"},
		"a foreign directory": {func(place string) error { return os.MkdirAll(place+"/somebody's", 0o700) }, "not a state directory"},
		"open to others": {func(place string) error {
			return cmp.Or(os.Mkdir(place, 0o700), os.Chmod(place, 0o777))
		}, "other users can write"},
		"below a file": {func(place string) error { return os.WriteFile(filepath.Dir(place), nil, 0o600) }, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			place := w.beside("moved")
			if name == "below a file" {
				place = w.beside("file/moved")
			}
			if err := tc.make(place); err != nil {
				t.Fatal(err)
			}
			var handle string
			steps := []resource.TestStep{{Config: w.instance(), Check: w.noting(&handle)}}
			steps = append(steps, w.survives(&handle,
				resource.TestStep{Config: w.instance()},
				resource.TestStep{
					Config:      strings.ReplaceAll(w.instance(), w.uri(), "local://"+place),
					ExpectError: regexp.MustCompile(`(?s)connection_uri\s+would\s+replace.*` + spaced(tc.want)),
				})...)
			w.run(steps...)
		})
	}
}

func TestConnectionThatCannotBeMadeIsRefusedWhenPlanning(t *testing.T) {
	w := newWorld(t)
	if err := os.Symlink(filepath.Dir(w.dir), w.dir); err != nil {
		t.Fatal(err)
	}
	w.run(resource.TestStep{
		Config:      fmt.Sprintf(`resource "sandbox_connection" "here" { local = { directory = %q } }`, w.dir),
		PlanOnly:    true,
		ExpectError: regexp.MustCompile(`(?s)Connection\s+cannot\s+be\s+prepared.*` + spaced("is a link")),
	})
	if err := os.Remove(w.dir); err != nil {
		t.Fatal(err)
	}
}

// spaced matches words wherever Terraform breaks the line.
func spaced(words string) string {
	return strings.Join(strings.Fields(regexp.QuoteMeta(words)), `[\s│]+`)
}
