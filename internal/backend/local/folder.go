// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// folder is an open directory. What is named below it is reached without
// following a link, without leaving it and without crossing into a mount, so
// that nothing planted inside can lead us elsewhere.
type folder struct{ *os.File }

// openFolder opens the directory dir, which must not be a link itself.
func openFolder(dir string) (folder, error) {
	f, err := os.OpenFile(dir, unix.O_DIRECTORY|unix.O_NOFOLLOW|os.O_RDONLY, 0)
	return folder{f}, err
}

// open opens name, a path below d.
func (d folder) open(name string, flags int, perm uint32) (*os.File, error) {
	fd, err := d.openRaw(name, flags, perm)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), d.Name()+"/"+name), nil
}

// openRaw is open without what makes an os.File of it, which costs more than
// all the rest of reading a record.
func (d folder) openRaw(name string, flags int, perm uint32) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags) | unix.O_CLOEXEC,
		Mode:    uint64(perm),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_XDEV,
	}
	for {
		switch fd, err := unix.Openat2(int(d.Fd()), name, &how); err {
		case nil:
			return fd, nil
		case unix.EINTR, unix.EAGAIN:
		default:
			return -1, d.failed("open", name, err)
		}
	}
}

// folder opens the directory name.
func (d folder) folder(name string) (folder, error) {
	f, err := d.open(name, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	return folder{f}, err
}

// mkdir makes the directory name with exactly perm and opens it.
func (d folder) mkdir(name string, perm os.FileMode) (folder, error) {
	if err := unix.Mkdirat(int(d.Fd()), name, 0o700); err != nil {
		return folder{}, d.failed("make directory", name, err)
	}
	made, err := d.folder(name)
	if err != nil {
		return folder{}, err
	}
	if err := made.Chmod(perm); err != nil {
		made.Close()
		return folder{}, err
	}
	return made, nil
}

// ensure makes the directory name unless it is there, and opens it.
func (d folder) ensure(name string, perm os.FileMode) (folder, error) {
	made, err := d.mkdir(name, perm)
	if errors.Is(err, fs.ErrExist) {
		return d.folder(name)
	}
	return made, err
}

// names returns what the directory name holds, in byte order.
func (d folder) names(name string) ([]string, error) {
	f, err := d.folder(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	slices.Sort(names)
	return names, err
}

// stat describes name without following it.
func (d folder) stat(name string) (unix.Statx_t, error) {
	var st unix.Statx_t
	err := unix.Statx(int(d.Fd()), name, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st)
	if err != nil {
		return st, d.failed("stat", name, err)
	}
	return st, nil
}

// same reports whether other is what name is now.
func (d folder) same(name string, other folder) (bool, error) {
	now, err := d.stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	st, err := other.stat(".")
	return witness(now) == witness(st), err
}

// witness tells apart two things that had the same name one after the other.
func witness(st unix.Statx_t) string {
	return fmt.Sprintf("%x:%x-%x", st.Dev_major, st.Dev_minor, st.Ino)
}

// rename moves name to newName in the folder to, in one step. It does not
// replace a directory that holds anything.
func (d folder) rename(name string, to folder, newName string) error {
	if err := unix.Renameat(int(d.Fd()), name, int(to.Fd()), newName); err != nil {
		return d.failed("rename", name, err)
	}
	return nil
}

// read returns the content of name, a regular file of ours of at most limit bytes.
func (d folder) read(name string, limit int64) ([]byte, error) {
	fd, err := d.openRaw(name, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }()
	var is unix.Stat_t
	err = unix.Fstat(fd, &is)
	switch {
	case err != nil:
		return nil, d.failed("stat", name, err)
	case is.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, fmt.Errorf("%s is not a regular file", name)
	case int(is.Uid) != os.Geteuid():
		return nil, fmt.Errorf("%s belongs to another user", name)
	case is.Size > limit:
		return nil, fmt.Errorf("%s has %d bytes, more than %d", name, is.Size, limit)
	}
	data := make([]byte, is.Size)
	for n := 0; n < len(data); {
		switch more, err := unix.Read(fd, data[n:]); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, d.failed("read", name, err)
		case more == 0: // it is never written in place, so this is not ours
			return nil, d.failed("read", name, io.ErrUnexpectedEOF)
		default:
			n += more
		}
	}
	return data, nil
}

// replace gives the file name a new content in one durable step: readers see
// the old or the new one, also after a crash. One writer at a time: the caller
// holds a lock, so that the temporary file can have a fixed name and none is
// ever left lying about for long.
func (d folder) replace(name string, data []byte) error {
	temporary := name + ".new"
	if err := d.writeSynced(temporary, data); err != nil {
		d.unlink(temporary)
		return err
	}
	if err := d.rename(temporary, d, name); err != nil {
		return err
	}
	return d.Sync()
}

func (d folder) writeSynced(name string, data []byte) error {
	f, err := d.open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// unlink removes a file of ours that is of no use any more, if it can.
func (d folder) unlink(name string) { _ = unix.Unlinkat(int(d.Fd()), name, 0) }

// root opens d for work on files that are not ours.
func (d folder) root() (*os.Root, error) {
	return os.OpenRoot("/proc/self/fd/" + strconv.Itoa(int(d.Fd())))
}

// isFull reports whether there was no space left to write to.
func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// isExhausted reports whether this process or host ran out of what opening a
// file takes.
func isExhausted(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOMEM)
}

func (d folder) failed(attempt, name string, err error) error {
	return &fs.PathError{Op: attempt, Path: d.Name() + "/" + name, Err: err}
}
