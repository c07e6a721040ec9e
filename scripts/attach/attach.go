// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// run holds the sandbox until ctx ends.
func run(ctx context.Context, args []string) error {
	if len(args) != 4 {
		return errors.New("usage: attach CONNECTION HANDLE OWNER HOLDER")
	}
	handle, owner, holder := sandbox.Ref{Handle: args[1]}, args[2], args[3]
	conn, err := connect.Parse(args[0])
	if err != nil {
		return err
	}
	b, err := connect.Open(conn, connect.Options{})
	if err != nil {
		return err
	}
	var refused error
	claim := func(tags sandbox.Tags) {
		var claimed sandbox.Tags
		var write bool
		if claimed, write, refused = airflow.Claim(tags, owner, holder); write {
			tags[airflow.TagHolder] = airflow.Holder(claimed)
		}
	}
	if err := errors.Join(backend.EditTags(ctx, b, handle, claim), refused); err != nil {
		return fmt.Errorf("attach to %s: %w", handle.Handle, err)
	}
	fmt.Println("attached")
	<-ctx.Done()
	return backend.EditTags(context.WithoutCancel(ctx), b, handle, func(tags sandbox.Tags) {
		if airflow.Holder(tags) == holder {
			delete(tags, airflow.TagHolder)
		}
	})
}
