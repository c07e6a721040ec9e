// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Command sandbox is the hand tool for whoever looks after sandboxes: list,
// show, exec, cp, release and rm, on any connection. It decides nothing by
// itself and remembers nothing.
package main

import (
	"context"
	"os"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

var version = "dev" // set by the release build

func main() {
	a := &app{clock: clock.System()}
	root := a.root()
	ctx, stop := cli.UntilStopped(context.Background())
	code := a.run(ctx, root, os.Args[1:])
	stop()
	os.Exit(code)
}
