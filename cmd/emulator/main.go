// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Command emulator serves vendors' protocols on this machine, so that Terraform,
// Dags and the janitor can be used together without an account. Each vendor is
// one subcommand, which prints the environment that its clients need and serves
// until a signal.
package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

var version = "dev" // set by the release build

func main() {
	root := rootCommand()
	// What a shell has its background jobs ignore, or nohup, stays ignored.
	heeded := slices.DeleteFunc([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}, signal.Ignored)
	ctx, stop := signal.NotifyContext(context.Background(), heeded...)
	status := run(ctx, root, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}
