// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
)

// examples are the files that Terraform can apply as they are. An import names
// a sandbox that is nobody's here.
func examples(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"provider/provider.tf", "quickstart/main.tf", "resources/*/resource.tf", "data-sources/*/data-source.tf", "functions/*/function.tf"} {
		found, err := filepath.Glob(filepath.Join("../../examples", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("no example is %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	return files
}

// adapt turns an example to this world: its own state directory instead of the
// user's, and a root file system that is there.
func (w *world) adapt(example string) string {
	return strings.NewReplacer(
		`"taskowned/sandbox"`, `"hashicorp/sandbox"`, // where the test framework puts every provider
		`"local:"`, fmt.Sprintf("%q", w.uri()),
		`local = {}`, fmt.Sprintf("local = { directory = %q }", w.dir),
		`abspath("rootfs.tar")`, fmt.Sprintf("%q", w.rootfs("rootfs.tar", "x")),
	).Replace(example)
}

func TestEveryExampleAppliesAndIsQuietAfterwards(t *testing.T) {
	t.Parallel()
	for _, file := range examples(t) {
		t.Run(strings.TrimPrefix(file, "../../examples/"), func(t *testing.T) {
			w := newWorld(t)
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			step := resource.TestStep{Config: w.adapt(string(content))}
			if strings.Contains(step.Config, `variable "state_directory"`) {
				step.ConfigVariables = config.Variables{"state_directory": config.StringVariable(w.dir)}
			}
			if strings.Contains(step.Config, `"local:"`) || strings.Contains(step.Config, "local = {}") {
				t.Fatal("the example would use the state directory of this user")
			}
			w.run(step) // which fails a step that leaves anything to plan
		})
	}
}

func TestModalExampleAppliesAndIsQuietAfterwards(t *testing.T) {
	w := newModalWorld(t)
	account := w.sets["lab"]["modal"]
	w.place, w.head = "modal:?credentials=lab&egress_enforcement=sni", ""
	w.ambient = map[string]string{"MODAL_TOKEN_ID": account["token_id"], "MODAL_TOKEN_SECRET": account["token_secret"]}
	content, err := os.ReadFile("../../examples/modal/main.tf")
	if err != nil {
		t.Fatal(err)
	}
	w.run(resource.TestStep{Config: strings.Replace(string(content), `"taskowned/sandbox"`, `"hashicorp/sandbox"`, 1)})
}
