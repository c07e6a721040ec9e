// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is its root, and programs a directory with all that a person has on
// the PATH: our programs, and terraform.
var repository, programs string

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run installs the programs for the time of the tests.
func run(m *testing.M) (code int, err error) {
	if repository, err = filepath.Abs("../.."); err != nil {
		return 1, err
	}
	if programs, err = os.MkdirTemp("", "programs-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	if err := install(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

func install() error {
	build := exec.Command("go", "build", "-o", programs+"/", ".", "./cmd/...")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	terraform, err := exec.Command(filepath.Join(repository, "scripts/terraform.sh")).Output()
	if err != nil {
		return fmt.Errorf("find a Terraform: %w", err)
	}
	if err := os.Symlink(strings.TrimSpace(string(terraform)), filepath.Join(programs, "terraform")); err != nil {
		return err
	}
	config := fmt.Sprintf("provider_installation {\n  dev_overrides { \"taskowned/sandbox\" = %q }\n  direct {}\n}\n", programs)
	return errors.Join(
		os.WriteFile(filepath.Join(programs, "terraform.rc"), []byte(config), 0o600),
		os.Setenv("TF_CLI_CONFIG_FILE", filepath.Join(programs, "terraform.rc")),
		os.Setenv("PATH", programs+":"+os.Getenv("PATH")),
	)
}
