// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSchemasAreWhatTerraformSays compares what this program prints with
// what a real Terraform says about the same provider, but for the parts that an
// older one does not know.
func TestSchemasAreWhatTerraformSays(t *testing.T) {
	terraform := os.Getenv("TF_ACC_TERRAFORM_PATH")
	if terraform == "" {
		t.Skip("TF_ACC_TERRAFORM_PATH names no Terraform; make acceptance sets it")
	}
	dir := t.TempDir()
	output(t, exec.Command("go", "build", "-o", filepath.Join(dir, "terraform-provider-sandbox"), "../.."))
	write(t, filepath.Join(dir, "cli.tfrc"), fmt.Sprintf(`provider_installation {
  dev_overrides { "taskowned/sandbox" = %q }
  direct {}
}`, dir))
	write(t, filepath.Join(dir, "main.tf"), `terraform {
  required_providers { sandbox = { source = "taskowned/sandbox" } }
}`)
	providers := exec.Command(terraform, "-chdir="+dir, "providers", "schema", "-json")
	providers.Env = append(os.Environ(), "TF_CLI_CONFIG_FILE="+filepath.Join(dir, "cli.tfrc"))
	want := only(t, output(t, providers))
	got := only(t, output(t, exec.Command("go", "run", ".")))
	for section := range got {
		if _, known := want[section]; !known && section == "resource_identity_schemas" {
			delete(got, section)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schemas differ (-terraform +ours):\n%s", diff)
	}
}

// only returns the schemas of the one provider in document.
func only(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var all struct {
		Schemas map[string]map[string]any `json:"provider_schemas"`
	}
	if err := json.Unmarshal(document, &all); err != nil {
		t.Fatal(err)
	}
	for _, schemas := range all.Schemas {
		if len(all.Schemas) == 1 && len(schemas) > 1 {
			return schemas
		}
	}
	t.Fatalf("%d providers in %s", len(all.Schemas), document)
	return nil
}

func output(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.Bytes())
	}
	return stdout.Bytes()
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
