// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/terraformtest"
)

// What all tests share: making it takes most of their time.
var (
	server    *emulator.Server
	watched   = &watcher{}
	programs  string // directory of all programs, see terraformtest
	stack     *terraform
	worker    *airflowWorker
	workplace string // directory of everything that is written
)

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// runAll sets the stage, runs the tests and clears everything away.
func runAll(m *testing.M) (code int, err error) {
	if workplace, err = os.MkdirTemp("", "interop-"); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(workplace)) }()
	// A sandbox outlives its own end here, as some seconds at Modal, so that the
	// janitor finds expired ones.
	server, err = emulator.Start(emulator.Options{Watch: watched.see, TimeoutLag: 24 * time.Hour})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for _, variable := range server.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return 1, err
		}
	}
	if worker, err = startAirflow(); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, worker.close()) }()
	if err := makeStack(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// makeStack has a Terraform with the built provider make all instances.
func makeStack() (err error) {
	programs = filepath.Join(workplace, "bin")
	if err := terraformtest.Install(programs); err != nil {
		return err
	}
	if stack, err = newTerraform(filepath.Join(workplace, "stack")); err != nil {
		return err
	}
	return stack.apply(instances)
}
