// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package terraformtest gives tests what a person has on the PATH: a real
// Terraform, the provider that it uses, and our other programs, as this tree
// builds them.
package terraformtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Install puts our programs into the directory dir, and a Terraform under the name
// terraform, whichever it is. This process, and what it starts from then on, has
// them on its PATH, and every Terraform uses that provider.
func Install(dir string) error {
	build := exec.Command("go", "build", "-o", dir+"/", ".", "./cmd/...")
	build.Dir = repository()
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	terraform, err := exec.Command(filepath.Join(build.Dir, "scripts/terraform.sh")).Output()
	if err != nil {
		return fmt.Errorf("find a Terraform: %w", err)
	}
	if err := os.Symlink(strings.TrimSpace(string(terraform)), filepath.Join(dir, "terraform")); err != nil {
		return err
	}
	config := filepath.Join(dir, "terraform.rc")
	overrides := fmt.Sprintf("provider_installation {\n  dev_overrides { \"taskowned/sandbox\" = %q }\n  direct {}\n}\n", dir)
	return errors.Join(
		os.WriteFile(config, []byte(overrides), 0o600),
		os.Setenv("TF_CLI_CONFIG_FILE", config),
		os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH")),
	)
}

// repository is the root of this tree.
func repository() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "../..")
}
