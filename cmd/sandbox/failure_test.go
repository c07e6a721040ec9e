// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"testing"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

func TestWhatToDoIsSaidOnlyWhereTheClassAloneTells(t *testing.T) {
	for class, want := range map[error]struct {
		status int
		next   string
	}{
		backend.ErrNotFound:       {cli.ExitNotFound, "see what is there: sandbox list local:"},
		backend.ErrUnknownOutcome: {cli.ExitFailed, "see what it came to: sandbox list local:"},
		backend.ErrUnauthorized:   {cli.ExitUnreachable, ""}, // a directory of another user's has no credentials
		backend.ErrConflict:       {cli.ExitFailed, ""},      // an expired sandbox was changed by nobody
	} {
		err := &located{fmt.Errorf("list on \"local:\": %w", class), "local:", ""}
		if f := asFailure(t.Context(), &cobra.Command{Use: "list"}, err); f.status != want.status || f.Next != want.next {
			t.Errorf("%v: exit status %d, next %q", class, f.status, f.Next)
		}
	}
}
