// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Who the command is, as it sees itself.
const (
	userName = "sandbox"
	userID   = "1000" // uid and gid
	hostname = "sandbox"
)

// Sizes of the file systems in memory, in bytes. Without one, a tmpfs may take
// half of the machine's memory.
const (
	tmpBytes = "268435456"
	shmBytes = "67108864"
	runBytes = "16777216"
)

// madeUpFiles are what the files of /etc that describe the host say inside.
func madeUpFiles(home string) map[string]string {
	return map[string]string{
		"/etc/group": "root:x:0:\n" + userName + ":x:" + userID + ":\nnogroup:x:65534:\n",
		"/etc/hosts": "127.0.0.1 localhost " + hostname + "\n::1 localhost\n",
		"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n" +
			userName + ":x:" + userID + ":" + userID + "::" + home + ":/bin/sh\n" +
			"nobody:x:65534:65534::/nonexistent:/bin/false\n",
	}
}

// publicFiles are the host's own files that programs need to find libraries,
// certificates, names and the time zone. /etc/ssl is not among them: it holds
// private keys.
var publicFiles = []string{
	"/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
	"/etc/nsswitch.conf", "/etc/protocols", "/etc/services",
}

// maxWords is how many arguments bubblewrap takes, from its command line and its
// descriptor together (MAX_ARGS in bubblewrap.c).
const maxWords = 9000

const resolverFile = "/etc/resolv.conf"

// hostSystem returns the options that show the host's own programs. It is an
// allow-list, and so hides /root, /home, /var, /opt, /run and all else.
func hostSystem() []string {
	options := []string{
		"--perms", "0755", "--dir", "/etc", // before anything in it: it would be made with mode 0700
		"--ro-bind", "/usr", "/usr",
	}
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"} {
		info, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		if info.Mode()&os.ModeSymlink == 0 {
			options = append(options, "--ro-bind", dir, dir)
		} else if target, err := os.Readlink(dir); err == nil {
			options = append(options, "--symlink", target, dir)
		}
	}
	for _, file := range publicFiles {
		options = append(options, "--ro-bind-try", file, file)
	}
	return options
}

// procMasks returns the options that hide what a fresh /proc should not show.
func procMasks() []string {
	// bubblewrap covers /proc/sys itself only where it thinks it needs to.
	options := []string{"--ro-bind", "/proc/sys", "/proc/sys"}
	// The first process inside has no filter for an instant after it started
	// the command: nothing may be written into it. A device on a mount without
	// devices cannot be opened.
	for _, file := range []string{"/proc/1/mem", "/proc/1/task/1/mem", "/proc/keys"} {
		if _, err := os.Stat(file); err == nil {
			options = append(options, "--ro-bind", os.DevNull, file)
		}
	}
	return options
}

// plan makes the launch of a completed spec.
func (e *Engine) plan(spec Spec) (*launch, error) {
	l := &launch{
		bubblewrap: e.bubblewrap,
		line:       []string{"--args", strconv.Itoa(optionsFD), "--"},
		argv:       spec.Argv,
		attributes: attributes(spec.HostUID, spec.HostGID),
		seal:       closeOnExec,
	}
	if err := cmp.Or(l.reach(spec.Root), l.reach(spec.Work)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	l.add("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	if !spec.Network {
		l.add("--unshare-net")
	}
	l.add("--disable-userns", "--cap-drop", "ALL", "--new-session", "--die-with-parent",
		"--uid", userID, "--gid", userID, "--hostname", hostname, "--clearenv")
	for _, key := range slices.Sorted(maps.Keys(spec.Env)) {
		l.add("--setenv", key, spec.Env[key])
	}
	if err := e.addSystem(l, spec); err != nil {
		return nil, fmt.Errorf("%w: root directory %s: %w", ErrInvalid, spec.Root, err)
	}
	l.add("--proc", "/proc")
	l.add(e.masks...)
	l.add("--dev", "/dev")
	l.addTmpfs("/dev/shm", shmBytes, "1777")
	l.addTmpfs("/tmp", tmpBytes, "1777")
	l.addTmpfs("/run", runBytes, "0755")
	if spec.Work == "" {
		l.addTmpfs(spec.Workdir, tmpBytes, "0755")
	} else {
		l.add("--bind", l.source(spec.Work), spec.Workdir)
	}
	// After every mount: both are writable until then.
	l.add("--remount-ro", "/dev", "--remount-ro", "/")
	l.add("--chdir", spec.Dir)
	l.add("--seccomp", l.addData(string(e.filter)), "--json-status-fd", strconv.Itoa(statusFD))
	if n := 1 + len(l.line) + len(l.argv) + len(l.options); n > maxWords {
		return nil, fmt.Errorf("%w: %d arguments and %d variables; bubblewrap takes %d words in all, this makes %d",
			ErrInvalid, len(spec.Argv), len(spec.Env), maxWords, n)
	}
	return l, nil
}

// addSystem shows the programs of the host or of spec.Root, and the files of
// /etc that the engine makes up.
func (e *Engine) addSystem(l *launch, spec Spec) error {
	shown := func(string) bool { return true }
	if spec.Root == "" {
		l.add(e.system...)
	} else {
		if err := l.addTree(spec.Root, "/", spec.Workdir); err != nil {
			return err
		}
		// What the image lacks cannot be made in its read-only directory, and a
		// link there must not lead the mount astray.
		shown = func(file string) bool { return regularBelow(spec.Root, file) }
	}
	files := madeUpFiles(spec.Workdir)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if shown(file) {
			l.add("--perms", "0644", "--ro-bind-data", l.addData(files[file]), file)
		}
	}
	if spec.Network && shown(resolverFile) {
		l.add("--ro-bind-try", resolverFile, resolverFile)
	}
	return nil
}

// regularBelow reports whether file is a regular file of the directory root,
// and no part of it below root a link.
func regularBelow(root, file string) bool {
	dir, err := os.Lstat(filepath.Join(root, filepath.Dir(file)))
	if err != nil || !dir.IsDir() {
		return false
	}
	info, err := os.Lstat(filepath.Join(root, file))
	return err == nil && info.Mode().IsRegular()
}
