// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/compare"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

const image = "sandbox_image.it"

// rootfs writes a tarball of a tiny root file system that holds one word.
func (w *world) rootfs(name, word string) (path string) {
	w.t.Helper()
	var b bytes.Buffer
	archive := tar.NewWriter(&b)
	for _, dir := range []string{"usr/", "usr/bin/", "etc/"} {
		if err := archive.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := archive.WriteHeader(&tar.Header{Name: "etc/word", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(word))}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := archive.Write([]byte(word)); err != nil {
		w.t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		w.t.Fatal(err)
	}
	path = filepath.Join(filepath.Dir(w.dir), name)
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// image is the configuration of sandbox_image.it.
func (w *world) image(from string, attributes ...string) string {
	return fmt.Sprintf(`
resource "sandbox_image" "it" {
  connection_uri = %q
  from           = %q
  %s
}`, w.uri(), from, strings.Join(attributes, "\n  "))
}

func imagePlanned(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(image, action)}}
}

// hasImage looks for the image of the state past the provider, and tells its
// reference.
func (w *world) hasImage(reference *string) resource.TestCheckFunc {
	return func(s *terraform.State) error {
		*reference = s.RootModule().Resources[image].Primary.Attributes["reference"]
		return w.checkImage(*reference, true)
	}
}

func (w *world) builder() backend.ImageBuilder {
	w.t.Helper()
	builder, ok := w.backend().(backend.ImageBuilder)
	if !ok {
		w.t.Fatalf("%s builds no images", w.uri())
	}
	return builder
}

func (w *world) checkImage(reference string, want bool) error {
	got, err := w.builder().HasImage(w.t.Context(), reference)
	if err == nil && got != want {
		err = fmt.Errorf("image %s is there: %t, want %t", reference, got, want)
	}
	return err
}

func TestImageIsBuiltInPlaceAndNamedByItsContent(t *testing.T) {
	w := newWorld(t)
	one, again, other := w.rootfs("one.tar", "one"), w.rootfs("again.tar", "one"), w.rootfs("other.tar", "other")
	same, differs := statecheck.CompareValue(compare.ValuesSame()), statecheck.CompareValue(compare.ValuesDiffer())
	var reference string
	w.run(
		resource.TestStep{
			Config:           w.image(one),
			ConfigPlanChecks: imagePlanned(plancheck.ResourceActionCreate),
			Check:            w.hasImage(&reference),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue(image, tfjsonpath.New("delete_on_destroy"), knownvalue.Bool(false)),
				same.AddStateValue(image, tfjsonpath.New("reference")),
			},
		},
		resource.TestStep{
			Config:           w.image(again),
			ConfigPlanChecks: imagePlanned(plancheck.ResourceActionUpdate),
			ConfigStateChecks: []statecheck.StateCheck{
				same.AddStateValue(image, tfjsonpath.New("reference")),
				differs.AddStateValue(image, tfjsonpath.New("reference")),
			},
		},
		resource.TestStep{
			Config:            w.image(other),
			ConfigPlanChecks:  imagePlanned(plancheck.ResourceActionUpdate),
			Check:             w.hasImage(&reference),
			ConfigStateChecks: []statecheck.StateCheck{differs.AddStateValue(image, tfjsonpath.New("reference"))},
		},
	)
}

func TestImageThatDoesNotBuildLeavesTheOldOne(t *testing.T) {
	w := newWorld(t)
	good := w.rootfs("good.tar", "good")
	var reference string
	w.run(
		resource.TestStep{Config: w.image(good), Check: w.hasImage(&reference)},
		resource.TestStep{Config: w.image("/no/such.tar"), ExpectError: regexp.MustCompile(`(?s)Image\s+cannot\s+be\s+built\s+from\s+/no/such\.tar`)},
		resource.TestStep{
			Config:           w.image(good),
			ConfigPlanChecks: imagePlanned(plancheck.ResourceActionNoop),
			Check: func(s *terraform.State) error {
				if got := s.RootModule().Resources[image].Primary.Attributes["reference"]; got != reference {
					return fmt.Errorf("the reference was %s, now %s", reference, got)
				}
				return w.checkImage(reference, true)
			},
		},
	)
}

func TestOtherSettingsDoNotBuildAgain(t *testing.T) {
	w := newWorld(t)
	from := w.rootfs("rootfs.tar", "x")
	w.run(
		resource.TestStep{Config: w.image(from)},
		resource.TestStep{
			Config: strings.ReplaceAll(w.image(from, `delete_on_destroy = true`), w.uri(), w.uri()+"?deployment=prod"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(image, plancheck.ResourceActionUpdate),
				plancheck.ExpectKnownValue(image, tfjsonpath.New("reference"), knownvalue.NotNull()),
			}},
		},
	)
}

func TestAnotherLocationReplacesTheImage(t *testing.T) {
	w, elsewhere := newWorld(t), ""
	from := w.rootfs("rootfs.tar", "x")
	elsewhere = w.uri() + "-other"
	w.run(
		resource.TestStep{Config: w.image(from)},
		resource.TestStep{
			Config:           strings.ReplaceAll(w.image(from), w.uri(), elsewhere),
			ConfigPlanChecks: imagePlanned(plancheck.ResourceActionReplace),
		},
	)
}

func TestImageThatIsGoneIsPlannedAnew(t *testing.T) {
	w := newWorld(t)
	from := w.rootfs("rootfs.tar", "x")
	var reference string
	w.run(
		resource.TestStep{Config: w.image(from), Check: w.hasImage(&reference)},
		resource.TestStep{
			PreConfig: func() {
				if err := w.builder().DeleteImage(t.Context(), reference); err != nil {
					t.Fatal(err)
				}
			},
			Config:           w.image(from),
			ConfigPlanChecks: imagePlanned(plancheck.ResourceActionCreate),
			Check:            w.hasImage(&reference),
		},
	)
}

func TestImageOfAnotherPlaceDoesNotCountAsGone(t *testing.T) {
	w := newWorld(t)
	config := w.image(w.rootfs("rootfs.tar", "x"))
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	w.run(
		resource.TestStep{Config: config},
		resource.TestStep{
			PreConfig: func() {
				move(w.dir, w.dir+"-away")
				w.destroy(w.foreign(sandbox.Spec{Lifetime: time.Hour}, nil).Ref)
			},
			Config:      config,
			ExpectError: regexp.MustCompile(`(?s)cannot\s+be\s+read.*another\s+machine,\s+account\s+or\s+state\s+directory`),
		},
		resource.TestStep{
			PreConfig: func() {
				move(w.dir, w.dir+"-other")
				move(w.dir+"-away", w.dir)
			},
			Config:           config,
			ConfigPlanChecks: imagePlanned(plancheck.ResourceActionNoop),
		},
	)
}

func TestImageIsOnlyForgottenUnlessDeletionIsAskedFor(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		attribute string
		left      bool
	}{
		"by default": {"", true},
		"asked for":  {"delete_on_destroy = true", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			var reference string
			resource.UnitTest(t, resource.TestCase{
				ProtoV6ProviderFactories: w.factories(),
				Steps: []resource.TestStep{{
					Config: w.image(w.rootfs("rootfs.tar", "x"), row.attribute),
					Check:  w.hasImage(&reference),
				}},
				CheckDestroy: func(*terraform.State) error { return w.checkImage(reference, row.left) },
			})
		})
	}
}

func TestImageInUseIsNotDeleted(t *testing.T) {
	w := newWorld(t)
	config := w.image(w.rootfs("rootfs.tar", "x"), `delete_on_destroy = true`)
	var reference string
	var user sandbox.Sandbox
	w.run(
		resource.TestStep{Config: config, Check: w.hasImage(&reference)},
		resource.TestStep{
			PreConfig:   func() { user = w.foreign(sandbox.Spec{Image: reference, Lifetime: time.Hour}, nil) },
			Config:      `# the image is to go`,
			ExpectError: regexp.MustCompile(`sandbox\s+still\s+uses\s+the\s+image`),
		},
		resource.TestStep{
			PreConfig:        func() { w.destroy(user.Ref) },
			Config:           config,
			ConfigPlanChecks: imagePlanned(plancheck.ResourceActionNoop),
		},
	)
	if err := w.checkImage(reference, false); err != nil {
		t.Error(err)
	}
}

func TestImageIsQuietWhileItsSourceIsUnknown(t *testing.T) {
	w := newWorld(t)
	config := strings.Replace(w.image("LATER"), `"LATER"`, "terraform_data.later.output", 1) +
		fmt.Sprintf("\nresource \"terraform_data\" \"later\" { input = %q }", w.rootfs("rootfs.tar", "x"))
	w.run(resource.TestStep{Config: config, ConfigPlanChecks: imagePlanned(plancheck.ResourceActionCreate)})
}

func TestImageIsRefusedWhenPlanningWithTheReason(t *testing.T) {
	w := newWorld(t)
	w.run(resource.TestStep{
		Config:      w.image("python:3.12-slim", `dockerfile_commands = ["RUN true"]`),
		PlanOnly:    true,
		ExpectError: regexp.MustCompile(`(?s)refuses\s+(from|dockerfile_commands).*refuses\s+(from|dockerfile_commands)`),
	})
	if _, err := os.Stat(w.dir); !os.IsNotExist(err) {
		t.Errorf("planning touched the disk: %v", err)
	}
}
