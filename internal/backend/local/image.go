// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// hostImage is the host's own /usr, read-only.
const hostImage = "host"

const imagesLock = "images.lock" // shared while a sandbox is made, exclusive to delete an image

var unpackedPattern = regexp.MustCompile(`^sha256-[0-9a-f]{64}$`)

// checkImage reports what cannot be an image, without looking at the disk.
func checkImage(image string) error {
	switch {
	case image == "", image == hostImage, unpackedPattern.MatchString(image):
		return nil
	case strings.ContainsRune(image, 0):
		return fmt.Errorf("%q holds a NUL byte", image)
	case filepath.IsAbs(image):
		return nil
	}
	return fmt.Errorf("%q is not %q, the absolute path of a root file system directory, or the reference of a sandbox_image; a registry cannot be read", image, hostImage)
}

func (st *state) imageRoot(image string) (string, error) {
	if image == hostImage {
		return "", nil
	}
	return image, nil
}
