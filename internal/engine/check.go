// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxString is the longest argument or variable that Linux passes to a new
// program, in bytes, without its NUL (MAX_ARG_STRLEN).
const maxString = 128*1024 - 1

// maxVariables leaves a third of the words that bubblewrap takes to arguments.
const maxVariables = 2000

// Where a Workdir cannot be, and where it can be only in a directory below.
var (
	kernelDirectories = []string{"/dev", "/proc", "/sys"}
	hostDirectories   = []string{"/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr"} // while they are the host's
	sharedDirectories = []string{"/", "/bin", "/etc", "/lib", "/lib64", "/run", "/sbin", "/tmp", "/usr"}
)

// replacedDirectories are made anew inside, or left out: an image's own say
// nothing.
var replacedDirectories = []string{"/dev", "/proc", "/run", "/sys", "/tmp"}

// Replaces reports whether the directory dir of a Spec.Root is never seen by a
// command, but made anew or left out.
func Replaces(dir string) bool { return slices.Contains(replacedDirectories, dir) }

// CheckWorkdir says why no command can have its files at dir, or nil. hostRoot
// is a Spec without Root, whose programs are the host's own.
func CheckWorkdir(dir string, hostRoot bool) error {
	if !cleanAbsolute(dir) || slices.Contains(sharedDirectories, dir) {
		return fmt.Errorf("workdir %q is not a clean absolute path of its own", dir)
	}
	if strings.ContainsAny(dir, ":\n") { // it becomes a line of /etc/passwd
		return fmt.Errorf("workdir %q holds a colon or a line break", dir)
	}
	first, _, _ := strings.Cut(dir[1:], "/")
	top := "/" + first
	if slices.Contains(kernelDirectories, top) || hostRoot && slices.Contains(hostDirectories, top) {
		return fmt.Errorf("workdir %q is in %s, which belongs to the system", dir, top)
	}
	return nil
}

// CheckEnv says why env can be the environment of no command, or nil.
func CheckEnv(env map[string]string) error {
	if len(env) > maxVariables {
		return fmt.Errorf("%d environment variables are more than %d: use a file", len(env), maxVariables)
	}
	for key, value := range env {
		if key == "" || strings.Contains(key, "=") {
			return fmt.Errorf("environment variable name %q is empty or holds '='", key)
		}
		if err := checkString(key + "=" + value); err != nil {
			return fmt.Errorf("environment variable %q %w", key, err)
		}
	}
	return nil
}

func checkString(s string) error {
	if strings.ContainsRune(s, 0) {
		return fmt.Errorf("holds a NUL byte")
	}
	if len(s) > maxString {
		return fmt.Errorf("is %d bytes long; Linux passes at most %d to a program: use standard input or a file", len(s), maxString)
	}
	return nil
}

// cleanAbsolute reports whether p is absolute, has no "." or ".." and no NUL.
func cleanAbsolute(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && checkString(p) == nil
}
