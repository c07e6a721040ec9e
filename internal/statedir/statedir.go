// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package statedir says where this host keeps what our programs remember, unless
// they are told otherwise.
package statedir

import (
	"errors"
	"os"
	"path/filepath"
)

// vendor is the folder of all our products.
const vendor = "taskowned"

// Default returns a product's directory: in the system's state for root, else in
// the user's (XDG Base Directory Specification; a relative variable counts as
// unset). It need not exist.
func Default(product string) (string, error) {
	if os.Geteuid() == 0 {
		return filepath.Join("/var/lib", vendor, product), nil
	}
	if base := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, vendor, product), nil
	}
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", errors.New("there is no home directory, for HOME is not set to one")
	}
	return filepath.Join(home, ".local/state", vendor, product), nil
}
