// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// unpackOnce unpacks the tarball at from, plain or compressed with gzip, unless
// those very bytes have been unpacked before.
func (st *state) unpackOnce(ctx context.Context, from string, log io.Writer) (string, error) {
	f, err := os.Open(from)
	if err != nil {
		return "", err
	}
	defer f.Close()
	digest, err := digestOf(ctx, f)
	if err != nil {
		return "", err
	}
	reference := "sha256-" + digest
	if _, err := st.stat(imagesDir + "/" + reference); !errors.Is(err, fs.ErrNotExist) {
		return reference, err
	}
	fmt.Fprintf(log, "unpacking %s\n", from)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}

	draft := &draft{st: st, name: "image-" + sandbox.NewMark()}
	defer draft.discard(ctx)
	dir, err := draft.make(ctx)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if err := unpackInto(ctx, dir, f, digest); err != nil {
		return "", err
	}
	images, err := st.folder.folder(imagesDir)
	if err != nil {
		return "", err
	}
	defer images.Close()
	err = dir.rename(rootDir, images, reference)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, fs.ErrExist) { // somebody else was faster
		err = nil
	}
	return reference, errors.Join(err, images.Sync())
}

// rootDir is the root file system in a draft of an image.
const rootDir = "root"

func unpackInto(ctx context.Context, dir folder, f io.Reader, digest string) error {
	rootfs, err := dir.mkdir(rootDir, 0o755)
	if err != nil {
		return err
	}
	defer rootfs.Close()
	root, err := rootfs.root()
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	sum := sha256.New()
	whole := io.TeeReader(withContext{ctx, f}, sum)
	if err := unpack(root, whole); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, whole); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != digest {
		return fmt.Errorf("%w: the tarball changed while it was read", backend.ErrConflict)
	}
	return unix.Syncfs(int(rootfs.Fd()))
}

func digestOf(ctx context.Context, r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, withContext{ctx, r}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// withContext is a reader that ends with its context.
type withContext struct {
	ctx context.Context
	io.Reader
}

func (r withContext) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// unpack unpacks a root file system without owners, devices and set-user bits:
// everything in it belongs to us and is only ever read.
func unpack(root *os.Root, r io.Reader) error {
	u := unpacker{root: root}
	if err := eachEntry(r, u.add); err != nil {
		return err
	}
	return u.closeDirs()
}

// eachEntry goes through a tarball, plain or compressed with gzip, to its end.
func eachEntry(r io.Reader, do func(header *tar.Header, content io.Reader) error) error {
	plain, err := decompressed(r)
	if err != nil {
		return err
	}
	archive := tar.NewReader(plain)
	for n := 0; ; n++ {
		header, err := archive.Next()
		switch {
		case err == io.EOF && n > 0:
			return nil
		case err == io.EOF, errors.Is(err, tar.ErrHeader), n == 0 && errors.Is(err, io.ErrUnexpectedEOF):
			return fmt.Errorf("%w: not a tarball, plain or compressed with gzip", backend.ErrInvalid)
		case err != nil:
			return err
		}
		if err := do(header, archive); err != nil {
			return fmt.Errorf("entry %q: %w", header.Name, err)
		}
	}
}

func decompressed(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	if magic, _ := buffered.Peek(2); string(magic) != "\x1f\x8b" {
		return buffered, nil
	}
	unzipped, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return unzipped, nil
}

// unpacker adds entries below root. Directories get their final mode at the
// end: nothing could be added to one that is read-only.
type unpacker struct {
	root *os.Root
	dirs []*tar.Header
}

// entryName is where an entry belongs below the root; empty: nowhere. It refuses
// what no image can hold.
func entryName(header *tar.Header) (string, error) {
	if slices.Contains(strings.Split(header.Name, "/"), "..") {
		return "", fmt.Errorf("%w: \"..\" in a name", backend.ErrInvalid)
	}
	name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
	switch header.Typeflag {
	case tar.TypeDir, tar.TypeReg, tar.TypeSymlink, tar.TypeLink:
		return name, nil
	case tar.TypeXGlobalHeader:
		return "", nil
	}
	if name == "" || strings.HasPrefix(name, "dev/") { // every command has a /dev of its own
		return "", nil
	}
	return "", fmt.Errorf("%w: neither a file, a directory nor a link", backend.ErrInvalid)
}

func (u *unpacker) add(header *tar.Header, content io.Reader) error {
	name, err := entryName(header)
	if err != nil || name == "" {
		return err
	}
	if err := u.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if header.Typeflag != tar.TypeDir {
		// A name that comes twice means the later one.
		if err := u.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	switch header.Typeflag {
	case tar.TypeDir:
		u.dirs = append(u.dirs, header)
		return u.root.MkdirAll(name, 0o755)
	case tar.TypeSymlink: // as text: it is followed only inside a sandbox
		return u.root.Symlink(header.Linkname, name)
	case tar.TypeLink:
		return u.root.Link(strings.TrimPrefix(path.Clean("/"+header.Linkname), "/"), name)
	}
	return u.addFile(name, header, content)
}

func (u *unpacker) addFile(name string, header *tar.Header, content io.Reader) error {
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	err = errors.Join(err, f.Chmod(header.FileInfo().Mode().Perm()|0o400), f.Close())
	if err != nil {
		return err
	}
	// Compiled Python is found stale when the time of its source differs.
	return u.root.Chtimes(name, header.ModTime, header.ModTime)
}

// closeDirs gives directories their mode, the innermost first.
func (u *unpacker) closeDirs() error {
	for _, header := range slices.Backward(u.dirs) {
		name := strings.TrimPrefix(path.Clean("/"+header.Name), "/")
		if err := u.root.Chmod(name, header.FileInfo().Mode().Perm()|0o700); err != nil {
			return err
		}
	}
	return nil
}
