// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux && !amd64

package engine

import (
	"fmt"
	"runtime"
)

// systemCallFilter refuses: the numbers of system calls differ from one
// architecture to the next, and a filter that no attack was tried on is none.
func systemCallFilter() ([]byte, error) {
	return nil, fmt.Errorf("%w: the system call filter is proven on linux/amd64 only, this is linux/%s",
		ErrUnavailable, runtime.GOARCH)
}
