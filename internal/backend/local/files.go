// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// What a command outlasts is in the workdir, so that is where files are read
// and written, from the host's side and through os.Root: whatever links a
// command has planted, nothing outside is reached. Everything else inside is the
// image's; a command can read it.

// ReadFile reads a file of the workdir.
func (h *host) ReadFile(ctx context.Context, ref sandbox.Ref, name string, limit int64, w io.Writer) (int64, error) {
	var n int64
	call := backend.Call{Verb: "read-file", Deadline: treeDeadline}
	err := h.do(ctx, call, func(ctx context.Context, st *state) error {
		rec, err := st.find(ref)
		if err != nil {
			return err
		}
		return st.inWorkdir(rec, name, func(root *os.Root, name string) error {
			f, err := openRegular(root, name)
			if err != nil {
				return err
			}
			defer f.Close()
			n, err = copyUpTo(ctx, w, f, limit)
			return err
		})
	})
	if err != nil {
		return n, h.fileFailed("read", name, ref, err)
	}
	return n, nil
}

// openRegular opens a regular file, and waits for nobody at the other end of a
// pipe to find out that it is none.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: not a regular file", backend.ErrInvalid)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// copyUpTo copies a file of at most limit bytes.
func copyUpTo(ctx context.Context, w io.Writer, f *os.File, limit int64) (int64, error) {
	if limit < 0 {
		return 0, fmt.Errorf("%w: a limit of %d bytes", backend.ErrInvalid, limit)
	}
	if err := fits(f, limit); err != nil {
		return 0, err
	}
	n, err := io.Copy(w, withContext{ctx, io.LimitReader(f, limit)})
	if err != nil {
		return n, err
	}
	return n, fits(f, limit) // it may have grown meanwhile
}

func fits(f *os.File, limit int64) error {
	info, err := f.Stat()
	if err == nil && info.Size() > limit {
		err = fmt.Errorf("%w: it has %d bytes, more than %d", backend.ErrTooLarge, info.Size(), limit)
	}
	return err
}

// WriteFile writes a file of the workdir. Readers see the old content or the
// new one.
func (h *host) WriteFile(ctx context.Context, ref sandbox.Ref, name string, r io.Reader) error {
	call := backend.Call{Verb: "write-file", Deadline: treeDeadline}
	err := h.do(ctx, call, func(ctx context.Context, st *state) error {
		rec, lock, err := h.enter(ctx, st, ref)
		if err != nil {
			return err
		}
		defer lock.Close()
		return st.inWorkdir(rec, name, func(root *os.Root, name string) error {
			return replaceFile(root, name, rec, withContext{ctx, r})
		})
	})
	if err != nil {
		return h.fileFailed("write", name, ref, err)
	}
	return nil
}

func replaceFile(root *os.Root, name string, rec record, r io.Reader) error {
	if info, err := root.Stat(name); err == nil && info.IsDir() {
		return fmt.Errorf("%w: a directory", backend.ErrInvalid)
	}
	if err := makeParents(root, path.Dir(name), rec); err != nil {
		return err
	}
	temporary := path.Join(path.Dir(name), ".write-"+sandbox.NewMark())
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	err = errors.Join(err, f.Chmod(0o644), f.Chown(rec.UID, rec.GID), f.Close())
	if err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}

// makeParents makes dir and what is missing above it, the sandbox user's.
func makeParents(root *os.Root, dir string, rec record) error {
	if dir == "." {
		return nil
	}
	if err := makeParents(root, path.Dir(dir), rec); err != nil {
		return err
	}
	switch err := root.Mkdir(dir, 0o755); {
	case errors.Is(err, fs.ErrExist):
		return nil
	case err != nil:
		return err
	}
	return root.Lchown(dir, rec.UID, rec.GID)
}

// ListDirectory lists a directory of the workdir.
func (h *host) ListDirectory(ctx context.Context, ref sandbox.Ref, name string) ([]backend.Entry, error) {
	var entries []backend.Entry
	err := h.do(ctx, read("list-directory"), func(_ context.Context, st *state) error {
		rec, err := st.find(ref)
		if err != nil {
			return err
		}
		return st.inWorkdir(rec, name, func(root *os.Root, name string) error {
			entries, err = listDirectory(root, name)
			return err
		})
	})
	if err != nil {
		return nil, h.fileFailed("list", name, ref, err)
	}
	return entries, nil
}

func listDirectory(root *os.Root, name string) ([]backend.Entry, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	children, err := f.ReadDir(-1)
	if errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("%w: not a directory", backend.ErrInvalid)
	}
	entries := make([]backend.Entry, len(children))
	for i, child := range children {
		entries[i] = backend.Entry{Name: child.Name(), Directory: child.IsDir()}
	}
	slices.SortFunc(entries, func(a, b backend.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, err
}

// inWorkdir opens the sandbox's workdir and calls f with name relative to it.
func (st *state) inWorkdir(rec record, name string, f func(root *os.Root, name string) error) error {
	if !path.IsAbs(name) || strings.ContainsRune(name, 0) {
		return fmt.Errorf("%w: the path must be absolute", backend.ErrInvalid)
	}
	below, inside := strings.CutPrefix(path.Clean(name)+"/", rec.Workdir+"/")
	if !inside {
		return fmt.Errorf("%w: files are kept in the workdir %s; anything else can be read by a command, such as cat", backend.ErrInvalid, rec.Workdir)
	}
	work, err := st.openWork(rec)
	if err != nil {
		if _, err := st.find(rec.sandbox().Ref); err != nil {
			return err // it was destroyed meanwhile
		}
		return &unreadable{fmt.Sprintf("%s has no %s", path.Join(st.Name(), sandboxesDir, rec.Handle), workDir)}
	}
	defer work.Close()
	root, err := work.root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	return f(root, path.Clean(below))
}

// openWork opens the workdir, also one that a command has closed.
func (st *state) openWork(rec record) (folder, error) {
	if err := st.unlockWork(rec); err != nil {
		return folder{}, err
	}
	return st.folder.folder(sandboxesDir + "/" + rec.Handle + "/" + workDir)
}

// fileFailed says which file, and gives what the kernel says a class.
func (h *host) fileFailed(attempt, name string, ref sandbox.Ref, err error) error {
	if pathError, ok := errors.AsType[*fs.PathError](err); ok && !errors.Is(err, backend.ErrNotFound) {
		err = pathError.Err // its path is relative to the workdir
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case isFull(err):
			err = fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
		default:
			err = fmt.Errorf("%w: %w", backend.ErrInvalid, err)
		}
	}
	return h.failed(fmt.Sprintf("%s the file %s in sandbox", attempt, name), ref.Handle, err)
}
