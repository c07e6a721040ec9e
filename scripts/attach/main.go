// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Command attach plays a task of Airflow's: it attaches to a sandbox as
// SandboxToolset(attach_to=HANDLE, owner=OWNER) does, says so, and lets go when
// it is told to end.
//
// usage: attach CONNECTION HANDLE OWNER HOLDER
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "attach:", err)
		os.Exit(1)
	}
}
