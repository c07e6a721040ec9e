// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package local

import (
	"fmt"
	"runtime"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

func open(backend.Connection, backend.Credentials, *backend.Caller) (backend.Backend, error) {
	return nil, fmt.Errorf("%w: local sandboxes need Linux, this is %s", backend.ErrUnsupported, runtime.GOOS)
}
