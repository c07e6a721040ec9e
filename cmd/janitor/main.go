// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Command janitor finds leaked sandboxes and reclaims them: plan shows, sweep
// does, run does it on a schedule. It wires package janitor to a configuration,
// a state directory, a terminal and signals, and decides nothing itself.
package main

import (
	"os"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

var version = "dev" // set by the release build

func main() {
	a := &app{clock: clock.System(), in: os.Stdin, out: os.Stdout, errs: os.Stderr}
	os.Exit(a.execute(os.Args[1:]))
}
