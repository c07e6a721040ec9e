// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	sdk "github.com/modal-labs/modal-client/go"
)

func TestFileToolKeepsFilesByteForByte(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	box := c.box(nil)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, name := range []string{"plain", "-n", "with space", "quote'\"", "$HOME", "line\nline", "ä", "deep/er/file"} {
		path := "/workspace/" + name
		if err := box.Filesystem.WriteBytes(c.ctx, all, path, nil); err != nil {
			t.Errorf("write %q: %v", path, err)
			continue
		}
		if got, err := box.Filesystem.ReadBytes(c.ctx, path, nil); err != nil || !bytes.Equal(got, all) {
			t.Errorf("read %q: %d bytes, %v", path, len(got), err)
		}
		if got, err := box.Filesystem.Stat(c.ctx, path, nil); err != nil || got.Size != 256 || got.Path != path || got.Type != "file" || got.Permissions != "-rw-r--r--" {
			t.Errorf("stat %q: %+v, %v", path, got, err)
		}
	}
	entries, err := box.Filesystem.ListFiles(c.ctx, "/workspace/", nil)
	if err != nil || len(entries) != 8 {
		t.Errorf("list: %v, %v", entries, err)
	}
}

func TestFileToolReplacesALinkAndFollowsItForReading(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	box := c.box(nil)
	c.sh(box, "echo target > target; ln -s target link; ln -s nowhere dangling; mkdir d; ln -s d todir")
	fs := box.Filesystem
	if got, err := fs.ReadText(c.ctx, "/workspace/link", nil); err != nil || got != "target\n" {
		t.Errorf("read: %q, %v", got, err)
	}
	if got, err := fs.Stat(c.ctx, "/workspace/dangling", nil); err != nil || got.Type != "symlink" || *got.SymlinkTarget != "nowhere" {
		t.Errorf("stat: %+v, %v", got, err)
	}
	if _, err := fs.ListFiles(c.ctx, "/workspace/todir", nil); err != nil {
		t.Errorf("list: %v", err)
	}
	for _, link := range []string{"link", "dangling", "todir"} {
		if err := fs.WriteText(c.ctx, "new", "/workspace/"+link, nil); err != nil {
			t.Errorf("write %s: %v", link, err)
		}
	}
	if out, _ := c.sh(box, "cat target; ls -A d; ls nowhere; stat -c %F link dangling todir"); out != "target\nregular file\nregular file\nregular file\n" {
		t.Errorf("after the writes: %q", out)
	}
}

func TestFileToolSaysWhatIsWrong(t *testing.T) {
	s := start(t, Options{})
	c := s.client(t, V2)
	box := c.box(nil)
	c.sh(box, "mkdir -p dir/full; touch file dir/full/x")
	fs := box.Filesystem
	no := false
	for _, test := range []struct {
		name string
		err  error
		want any
	}{
		{"read what is missing", second(fs.ReadBytes(c.ctx, "/workspace/none", nil)), new(sdk.SandboxFilesystemNotFoundError)},
		{"read a directory", second(fs.ReadBytes(c.ctx, "/workspace/dir", nil)), new(sdk.SandboxFilesystemIsADirectoryError)},
		{"read what is not ours", second(fs.ReadBytes(c.ctx, "/etc/shadow", nil)), new(sdk.SandboxFilesystemNotFoundError)},
		{"list what is missing", second(fs.ListFiles(c.ctx, "/workspace/none", nil)), new(sdk.SandboxFilesystemNotFoundError)},
		{"list a file", second(fs.ListFiles(c.ctx, "/workspace/file", nil)), new(sdk.SandboxFilesystemNotADirectoryError)},
		{"list below a file", second(fs.ListFiles(c.ctx, "/workspace/file/x", nil)), new(sdk.SandboxFilesystemNotADirectoryError)},
		{"stat what is missing", second(fs.Stat(c.ctx, "/workspace/none", nil)), new(sdk.SandboxFilesystemNotFoundError)},
		{"write over a directory", fs.WriteText(c.ctx, "x", "/workspace/dir", nil), new(sdk.SandboxFilesystemIsADirectoryError)},
		{"write below a file", fs.WriteText(c.ctx, "x", "/workspace/file/x", nil), new(sdk.SandboxFilesystemNotADirectoryError)},
		{"write what would vanish", fs.WriteText(c.ctx, "x", "/tmp/x", nil), new(sdk.SandboxFilesystemPermissionError)},
		{"write outside by dots", fs.WriteText(c.ctx, "x", "/workspace/../tmp/x", nil), new(sdk.SandboxFilesystemPermissionError)},
		{"make what is there", fs.MakeDirectory(c.ctx, "/workspace/dir", &sdk.SandboxFilesystemMakeDirectoryParams{CreateParents: &no}), new(sdk.SandboxFilesystemPathAlreadyExistsError)},
		{"make below what is missing", fs.MakeDirectory(c.ctx, "/workspace/no/d", &sdk.SandboxFilesystemMakeDirectoryParams{CreateParents: &no}), new(sdk.SandboxFilesystemNotFoundError)},
		{"remove what is missing", fs.Remove(c.ctx, "/workspace/none", nil), new(sdk.SandboxFilesystemNotFoundError)},
		{"remove what is full", fs.Remove(c.ctx, "/workspace/dir", nil), new(sdk.SandboxFilesystemDirectoryNotEmptyError)},
	} {
		if !errors.As(test.err, test.want) {
			t.Errorf("%s: %T %v, want %T", test.name, test.err, test.err, test.want)
		}
	}
	for what, err := range map[string]error{
		"make with parents":   fs.MakeDirectory(c.ctx, "/workspace/p/q/r", nil),
		"make again":          fs.MakeDirectory(c.ctx, "/workspace/p/q/r", nil),
		"remove a file":       fs.Remove(c.ctx, "/workspace/file", nil),
		"remove an empty one": fs.Remove(c.ctx, "/workspace/p/q/r", nil),
		"remove a full one":   fs.Remove(c.ctx, "/workspace/dir", &sdk.SandboxFilesystemRemoveParams{Recursive: true}),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, fmt.Errorf("%T: %w", err, err))
		}
	}
	if out, _ := c.sh(box, "find . -mindepth 1"); out != "./p\n./p/q\n" {
		t.Errorf("left: %q", out)
	}
}
