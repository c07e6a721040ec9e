// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/terraformtest"
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
	if err := terraformtest.Install(programs); err != nil {
		return 1, err
	}
	return m.Run(), nil
}
