// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
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
	if err := cmp.Or(s.checkArgv(), s.checkPlaces(), CheckEnv(s.Env), s.lend(uid, gid)); err != nil {
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

func (s Spec) checkPlaces() error {
	if err := CheckWorkdir(s.Workdir, s.Root == ""); err != nil {
		return err
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
	if info, err := os.Stat(s.Root); os.Geteuid() == 0 && (err != nil || info.Mode()&0o001 == 0) {
		return cmp.Or(err, fmt.Errorf("root directory %q is closed to the unprivileged user that commands run as: chmod o+rx it", s.Root))
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
