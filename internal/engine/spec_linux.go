// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxString is the longest argument or variable that Linux passes to a new
// program, in bytes, without its NUL (MAX_ARG_STRLEN).
const maxString = 128*1024 - 1

// Where a Workdir cannot be, and where it can be only in a directory below.
var (
	kernelDirectories = []string{"/dev", "/proc", "/sys"}
	hostDirectories   = []string{"/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/sbin", "/usr"} // while they are the host's
	sharedDirectories = []string{"/", "/bin", "/etc", "/lib", "/lib64", "/run", "/sbin", "/tmp", "/usr"}
)

// complete checks spec for a caller that is uid and gid, and fills in what it
// leaves to defaults.
func (s Spec) complete(uid, gid int) (Spec, error) {
	if s.Workdir == "" {
		s.Workdir = DefaultWorkdir
	}
	if s.Dir == "" {
		s.Dir = s.Workdir
	}
	for _, check := range []func() error{s.checkArgv, s.checkPlaces, s.checkEnv} {
		if err := check(); err != nil {
			return s, fmt.Errorf("%w: %w", ErrInvalid, err)
		}
	}
	if err := s.lend(uid, gid); err != nil {
		return s, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	s.Env = s.environment()
	return s, nil
}

func (s Spec) checkArgv() error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return fmt.Errorf("it names no program")
	}
	for i, arg := range s.Argv {
		if err := checkString(arg); err != nil {
			return fmt.Errorf("argument %d %w", i, err)
		}
	}
	return nil
}

func (s Spec) checkEnv() error {
	for key, value := range s.Env {
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

func (s Spec) checkPlaces() error {
	if !cleanAbsolute(s.Workdir) || slices.Contains(sharedDirectories, s.Workdir) {
		return fmt.Errorf("workdir %q is not a clean absolute path of its own", s.Workdir)
	}
	if strings.ContainsAny(s.Workdir, ":\n") { // it becomes a line of /etc/passwd
		return fmt.Errorf("workdir %q holds a colon or a line break", s.Workdir)
	}
	top := topOf(s.Workdir)
	if slices.Contains(kernelDirectories, top) || s.Root == "" && slices.Contains(hostDirectories, top) {
		return fmt.Errorf("workdir %q is in %s, which belongs to the system", s.Workdir, top)
	}
	if !cleanAbsolute(s.Dir) {
		return fmt.Errorf("directory %q is not a clean absolute path", s.Dir)
	}
	if s.Work != "" {
		if err := checkDirectory("work", s.Work); err != nil {
			return err
		}
	}
	if s.Root != "" {
		return s.checkRoot()
	}
	return nil
}

// checkRoot refuses a root directory that shows more than an image, or that the
// command could change.
func (s Spec) checkRoot() error {
	if err := checkDirectory("root", s.Root); err != nil {
		return err
	}
	if shows, err := holds(s.Root, cmp.Or(s.Work, "/")); err != nil || shows {
		return cmp.Or(err, fmt.Errorf("root directory %q is that of the host, or holds the work directory", s.Root))
	}
	if s.Work == "" {
		return nil
	}
	if below, err := holds(s.Work, s.Root); err != nil || below {
		return cmp.Or(err, fmt.Errorf("root directory %q is in the work directory, where commands can change it", s.Root))
	}
	return nil
}

// holds reports whether the directory outer is inner, or one above it.
func holds(outer, inner string) (bool, error) {
	wanted, err := os.Stat(outer)
	if err != nil {
		return false, err
	}
	dir, err := filepath.EvalSymlinks(inner)
	if err != nil {
		return false, err
	}
	for {
		info, err := os.Stat(dir)
		if err != nil || os.SameFile(wanted, info) {
			return err == nil, err
		}
		if dir == "/" {
			return false, nil
		}
		dir = filepath.Dir(dir)
	}
}

// cleanAbsolute reports whether p is absolute, has no "." or ".." and no NUL.
func cleanAbsolute(p string) bool {
	return path.IsAbs(p) && path.Clean(p) == p && checkString(p) == nil
}

// topOf returns the first element of an absolute path.
func topOf(p string) string {
	first, _, _ := strings.Cut(p[1:], "/")
	return "/" + first
}

func checkDirectory(what, dir string) error {
	if !filepath.IsAbs(dir) || checkString(dir) != nil {
		return fmt.Errorf("%s directory %q is not an absolute path", what, dir)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%s directory: %w", what, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s directory %q is not a directory", what, dir)
	}
	return nil
}

// lend decides whose uid and gid the command has outside. Root's own are never
// lent: uid 0 of the host, namespaces or not, owns /proc/sys and every file
// that a mount shows.
func (s *Spec) lend(uid, gid int) error {
	if uid == 0 {
		if s.HostUID <= 0 || s.HostGID <= 0 {
			return fmt.Errorf("host uid %d and gid %d: the caller is root and must name an unprivileged uid and gid", s.HostUID, s.HostGID)
		}
		return nil
	}
	if s.HostUID != 0 && s.HostUID != uid || s.HostGID != 0 && s.HostGID != gid {
		return fmt.Errorf("host uid %d and gid %d: only root can lend another's; this is uid %d, gid %d", s.HostUID, s.HostGID, uid, gid)
	}
	s.HostUID, s.HostGID = uid, gid
	return nil
}

func (s Spec) environment() map[string]string {
	env := map[string]string{
		"PATH":   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":   s.Workdir,
		"TMPDIR": "/tmp",
		"USER":   userName,
		"LANG":   "C.UTF-8",
	}
	for key, value := range s.Env {
		env[key] = value
	}
	return env
}
