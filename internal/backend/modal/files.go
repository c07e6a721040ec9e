// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modal-labs/modal-client/go"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// How long one file, and one directory, may take. The client's own file calls know
// no deadline (measured).
const (
	fileWithin      = 5 * time.Minute
	directoryWithin = 30 * time.Second
)

// readScript prints at most $2 bytes of the regular file $1. The client's own
// read has no limit, and a device never ends.
const readScript = `
[ -e "$1" ] || [ -L "$1" ] || exit 101
[ -f "$1" ] || exit 102
exec head -c "$2" "$1"`

// The exit codes of readScript.
const (
	readMissing   = 101
	readIrregular = 102
)

// ReadFile reads through a command inside, one byte more than the limit at most.
func (a *app) ReadFile(ctx context.Context, ref sandbox.Ref, name string, limit int64, w io.Writer) (int64, error) {
	if limit < 0 {
		return 0, a.fileFailed("read", name, ref, fmt.Errorf("%w: a limit of %d bytes", backend.ErrInvalid, limit))
	}
	limit = min(limit, math.MaxInt64-1)
	into := &limited{w: w, left: limit}
	err := a.onFile(ctx, ref, name, func(s *session, h *sdk.Sandbox) error {
		says := &backend.Tail{Limit: 1 << 10}
		ended, err := s.execute(ctx, h, "ReadFile", execution{
			argv:    []string{"sh", "-c", readScript, "sh", name, strconv.FormatInt(limit+1, 10)},
			dir:     "/",
			timeout: fileWithin, stdout: into, stderr: says,
		})
		switch {
		case err != nil:
			return err
		case ended.terminated:
			return orEnded(nil)
		case ended.code == readMissing:
			return fs.ErrNotExist
		case ended.code == readIrregular:
			return fmt.Errorf("%w: not a regular file", backend.ErrInvalid)
		case ended.code != 0:
			text, _ := says.Kept()
			return fmt.Errorf("%w: exit code %d: %s", backend.ErrInvalid, ended.code, strings.TrimSpace(string(text)))
		case into.over:
			return fmt.Errorf("%w: it has more than %d bytes", backend.ErrTooLarge, limit)
		case !ended.whole:
			return fmt.Errorf("%w: only %d bytes arrived", backend.ErrUnavailable, into.written)
		}
		return nil
	})
	return into.written, a.fileFailed("read", name, ref, err)
}

// limited passes left bytes on and notes that there were more.
type limited struct {
	w             io.Writer
	left, written int64
	over          bool
}

func (l *limited) Write(p []byte) (int, error) {
	fits := p[:min(int64(len(p)), l.left)]
	l.over = l.over || len(fits) < len(p)
	n, err := l.w.Write(fits)
	l.left, l.written = l.left-int64(n), l.written+int64(n)
	if err != nil {
		return n, err
	}
	return len(p), nil
}

// WriteFile hands the file to Modal's helper inside, which makes missing parents
// and replaces a link instead of following it. The content is held in memory.
func (a *app) WriteFile(ctx context.Context, ref sandbox.Ref, name string, r io.Reader) error {
	err := a.onFile(ctx, ref, name, func(s *session, h *sdk.Sandbox) error {
		content, err := io.ReadAll(r)
		if err != nil {
			return fmt.Errorf("read the content: %w", err)
		}
		return s.helper(ctx, h, backend.Call{Verb: "WriteFile", Deadline: fileWithin}, func(ctx context.Context) error {
			return h.Filesystem.WriteBytes(ctx, content, name, nil)
		})
	})
	return a.fileFailed("write", name, ref, err)
}

// ListDirectory asks Modal's helper inside.
func (a *app) ListDirectory(ctx context.Context, ref sandbox.Ref, name string) ([]backend.Entry, error) {
	var entries []backend.Entry
	err := a.onFile(ctx, ref, name, func(s *session, h *sdk.Sandbox) error {
		return s.helper(ctx, h, backend.Call{Verb: "ListDirectory", Idempotent: true, Deadline: directoryWithin}, func(ctx context.Context) error {
			files, err := h.Filesystem.ListFiles(ctx, name, nil)
			entries = make([]backend.Entry, len(files))
			for i, file := range files {
				entries[i] = backend.Entry{Name: file.Name, Directory: file.Type == sdk.FileTypeDirectory}
			}
			slices.SortFunc(entries, func(a, b backend.Entry) int { return strings.Compare(a.Name, b.Name) })
			return err
		})
	})
	if err != nil {
		return nil, a.fileFailed("list", name, ref, err)
	}
	return entries, nil
}

// helper is one call of the Caller around what the client does for one file.
func (s *session) helper(ctx context.Context, h *sdk.Sandbox, call backend.Call, use func(context.Context) error) error {
	return s.caller.Do(ctx, call, func(ctx context.Context) error {
		err := s.explain(ctx, h, fileClass(use(ctx)))
		if is[sdk.SandboxFilesystemError](err) && !hasClass(err) {
			return fmt.Errorf("%w: %w", lost(call), err)
		}
		return err
	})
}

// fileClass gives the helper's words a class. What the client could not explain
// has none.
func fileClass(err error) error {
	switch {
	case is[sdk.SandboxFilesystemNotFoundError](err):
		return fmt.Errorf("%w: %w", errNoFile, err)
	case is[sdk.SandboxFilesystemNotADirectoryError](err), is[sdk.SandboxFilesystemIsADirectoryError](err),
		is[sdk.SandboxFilesystemPermissionError](err), is[sdk.SandboxFilesystemPathAlreadyExistsError](err):
		return fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return err
}

// errNoFile has a class for the Caller's eyes, so that nobody asks whether the
// sandbox is there.
var errNoFile = fmt.Errorf("%w path: %w", backend.ErrInvalid, fs.ErrNotExist)

// onFile checks the path and takes hold of the sandbox.
func (a *app) onFile(ctx context.Context, ref sandbox.Ref, name string, use func(*session, *sdk.Sandbox) error) error {
	if !path.IsAbs(name) || strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
		return fmt.Errorf("%w: the path must be absolute, and UTF-8 without a NUL byte", backend.ErrInvalid)
	}
	s, h, err := a.use(ctx, ref)
	if err != nil {
		return err
	}
	defer func() { _ = h.Detach() }()
	return use(s, h)
}

// fileFailed says which file.
func (a *app) fileFailed(attempt, name string, ref sandbox.Ref, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fs.ErrNotExist
	}
	return a.failed(fmt.Sprintf("%s the file %s in sandbox", attempt, name), ref.Handle, err)
}
