// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestACommandThatNoBackendRunsIsInvalid(t *testing.T) {
	argv := []string{"true"}
	for says, cmd := range map[string]Command{
		"the command is empty":                {Timeout: time.Second},
		"needs a timeout":                     {Argv: argv},
		"-1 bytes of output":                  {Argv: argv, Timeout: time.Second, MaxOutput: -1},
		"bytes of output cannot be kept":      {Argv: argv, Timeout: time.Second, MaxOutput: math.MaxInt},
		"268435457 bytes of output cannot be": {Argv: argv, Timeout: time.Second, MaxOutput: OutputLimit + 1},
	} {
		if err := CheckCommand(cmd); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %v, saying %q", err, ErrInvalid, says)
		}
	}
	if err := CheckCommand(Command{Argv: argv, Timeout: 1, MaxOutput: OutputLimit}); err != nil {
		t.Error(err)
	}
}
