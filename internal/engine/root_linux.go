// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// addTree shows the entries of the host directory dir in the directory inside,
// one by one and read-only, so that bubblewrap's root remains one in which a
// mount point can be made: workdir is left out, and a directory on the way to
// it is opened up in the same manner.
func (l *launch) addTree(dir, inside, workdir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		from, to := filepath.Join(dir, entry.Name()), path.Join(inside, entry.Name())
		if to == workdir || Replaces(to) {
			continue
		}
		if err := l.addEntry(entry, from, to, workdir); err != nil {
			return err
		}
	}
	return nil
}

func (l *launch) addEntry(entry os.DirEntry, from, to, workdir string) error {
	onTheWay := strings.HasPrefix(workdir, to+"/")
	switch mode := entry.Type(); {
	case onTheWay && !mode.IsDir():
		return fmt.Errorf("workdir %s leads through %s, which is not a directory there", workdir, to)
	case onTheWay:
		l.add("--perms", "0755", "--dir", to)
		return l.addTree(from, to, workdir)
	case mode.IsDir(), mode.IsRegular():
		l.add("--ro-bind", l.source(from), to)
	case mode&os.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		l.add("--symlink", target, to)
	}
	return nil // devices, sockets and pipes of an image are of no use inside
}
