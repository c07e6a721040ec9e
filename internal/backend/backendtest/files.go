// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func testFiles(t *testing.T, p *place) {
	ref := p.create(t, nil).Ref

	t.Run("files are kept byte for byte", func(t *testing.T) {
		large := bytes.Repeat(everyByte, 8<<10) // 2 MiB
		for name, content := range map[string][]byte{"empty": {}, "bytes": everyByte, "large": large, "lines": []byte("unix\ndos\r\nmac\rend")} {
			p.write(t, ref, p.in(name), content)
			if got := p.read(t, ref, p.in(name)); !bytes.Equal(got, content) {
				t.Errorf("%s: %d bytes written, other %d read", name, len(content), len(got))
			}
		}
	})
	t.Run("parent directories are created", func(t *testing.T) {
		p.write(t, ref, p.in("a/b/c/file"), []byte("deep"))
		if got := p.read(t, ref, p.in("a/b/c/file")); string(got) != "deep" {
			t.Errorf("read %q", got)
		}
	})
	t.Run("a file is replaced whole", func(t *testing.T) {
		p.write(t, ref, p.in("replaced"), []byte("long content"))
		p.write(t, ref, p.in("replaced"), []byte("short"))
		if got := p.read(t, ref, p.in("replaced")); string(got) != "short" {
			t.Errorf("read %q", got)
		}
	})
	t.Run("names are taken byte for byte", func(t *testing.T) {
		for _, name := range []string{"-n", "with space", "ä箱", "quote'\"", "$HOME", "line\nline", "*", "~", "%41"} {
			path := p.in("names/" + name)
			p.write(t, ref, path, []byte(name))
			if got := p.read(t, ref, path); string(got) != name {
				t.Errorf("%q: read %q", path, got)
			}
		}
	})
	t.Run("commands and files see each other", func(t *testing.T) {
		p.write(t, ref, p.in("seen"), []byte("from outside\n"))
		p.sh(t, ref, "echo from inside >> seen")
		if got := p.read(t, ref, p.in("seen")); string(got) != "from outside\nfrom inside\n" {
			t.Errorf("read %q", got)
		}
	})
	t.Run("nothing past the limit is read", func(t *testing.T) { testReadLimit(t, p, ref) })
	t.Run("a missing path is told apart from a missing sandbox", func(t *testing.T) { testMissingPath(t, p, ref) })
	t.Run("a relative path is invalid", func(t *testing.T) {
		for what, err := range p.use(t, ref, "seen") {
			wantError(t, what, err, backend.ErrInvalid)
		}
	})
	t.Run("only a regular file is read", func(t *testing.T) { testIrregularFiles(t, p, ref) })
	t.Run("a directory is not overwritten", func(t *testing.T) {
		p.write(t, ref, p.in("dir/file"), nil)
		wantError(t, "WriteFile", p.WriteFile(t.Context(), ref, p.in("dir"), strings.NewReader("x")), backend.ErrInvalid)
	})
	t.Run("no path leads out of the sandbox", func(t *testing.T) { testEscapes(t, p, ref) })
	t.Run("a directory is listed sorted", func(t *testing.T) { testListDirectory(t, p, ref) })
}

func testReadLimit(t *testing.T, p *place, ref sandbox.Ref) {
	p.write(t, ref, p.in("hundred"), bytes.Repeat([]byte("x"), 100))
	var exact bytes.Buffer
	if n, err := p.ReadFile(t.Context(), ref, p.in("hundred"), 100, &exact); err != nil || n != 100 || exact.Len() != 100 {
		t.Errorf("a file of exactly the limit: %d, %v, %d bytes written", n, err, exact.Len())
	}
	for _, limit := range []int64{99, 1, 0} {
		var content bytes.Buffer
		_, err := p.ReadFile(t.Context(), ref, p.in("hundred"), limit, &content)
		wantError(t, "ReadFile over its limit", err, backend.ErrTooLarge)
		if int64(content.Len()) > limit {
			t.Errorf("%d bytes written, limit %d", content.Len(), limit)
		}
	}
	for _, limit := range []int64{-1, -2, math.MinInt64} {
		_, err := p.ReadFile(t.Context(), ref, p.in("hundred"), limit, io.Discard)
		wantError(t, fmt.Sprintf("ReadFile with the limit %d", limit), err, backend.ErrInvalid)
	}
	if n, err := p.ReadFile(t.Context(), ref, p.in("hundred"), math.MaxInt64, io.Discard); err != nil || n != 100 {
		t.Errorf("with the largest limit: %d bytes, %v", n, err)
	}
}

// use tries the three file methods on path.
func (p *place) use(t *testing.T, ref sandbox.Ref, path string) map[string]error {
	t.Helper()
	_, readErr := p.ReadFile(t.Context(), ref, path, 1<<20, new(bytes.Buffer))
	_, listErr := p.ListDirectory(t.Context(), ref, path)
	return map[string]error{
		"ReadFile " + path:      readErr,
		"ListDirectory " + path: listErr,
		"WriteFile " + path:     p.WriteFile(t.Context(), ref, path, strings.NewReader("x")),
	}
}

func testMissingPath(t *testing.T, p *place, ref sandbox.Ref) {
	for _, path := range []string{p.in("absent"), p.in("absent/below"), p.in("bytes/below a file")} {
		_, readErr := p.ReadFile(t.Context(), ref, path, 10, new(bytes.Buffer))
		_, listErr := p.ListDirectory(t.Context(), ref, path)
		for what, err := range map[string]error{"ReadFile " + path: readErr, "ListDirectory " + path: listErr} {
			wantError(t, what, err, fs.ErrNotExist, backend.ErrInvalid)
			if errors.Is(err, backend.ErrNotFound) {
				t.Errorf("%s = %v, which says that the sandbox is gone", what, err)
			}
		}
	}
	_, err := p.ReadFile(t.Context(), ref, p.in("absent"), 10, new(bytes.Buffer))
	wantError(t, "ReadFile of an absent file", err, fs.ErrNotExist)
}

func testIrregularFiles(t *testing.T, p *place, ref sandbox.Ref) {
	p.sh(t, ref, "mkdir -p irregular && mkfifo irregular/fifo && ln -s loop irregular/loop")
	ctx, cancel := context.WithTimeout(t.Context(), slack)
	defer cancel()
	for _, name := range []string{"irregular", "irregular/fifo"} {
		_, err := p.ReadFile(ctx, ref, p.in(name), 10, new(bytes.Buffer))
		wantError(t, "ReadFile "+name, err, backend.ErrInvalid)
	}
	if _, err := p.ReadFile(ctx, ref, p.in("irregular/loop"), 10, new(bytes.Buffer)); err == nil {
		t.Error("a link to itself was read")
	}
	if ctx.Err() != nil {
		t.Error("reading blocked")
	}
}

// testEscapes tries to reach a file of the machine the suite runs on. On a
// remote backend it cannot be there at all.
func testEscapes(t *testing.T, p *place, ref sandbox.Ref) {
	canary := filepath.Join(t.TempDir(), "canary")
	if err := os.WriteFile(canary, []byte("secret"), 0o666); err != nil {
		t.Fatal(err)
	}
	up := strings.Repeat("../", 16)
	p.sh(t, ref, "ln -sfn '"+canary+"' absolute && ln -sfn '"+up+canary[1:]+"' relative && ln -sfn '"+filepath.Dir(canary)+"' directory")
	for _, path := range []string{p.in("absolute"), p.in("relative"), p.in("directory/canary"), p.in(up + canary[1:]), canary} {
		var content bytes.Buffer
		if _, err := p.ReadFile(t.Context(), ref, path, 100, &content); err == nil && content.String() == "secret" {
			t.Errorf("ReadFile(%s) read a file of this machine", path)
		}
		_ = p.WriteFile(t.Context(), ref, path, strings.NewReader("overwritten")) // whether it may is up to the backend
		if got, err := os.ReadFile(canary); err != nil || string(got) != "secret" {
			t.Fatalf("WriteFile(%s) reached a file of this machine: %q, %v", path, got, err)
		}
	}
	if entries, err := p.ListDirectory(t.Context(), ref, p.in("directory")); err == nil && len(entries) > 0 {
		t.Errorf("ListDirectory followed a link to this machine: %+v", entries)
	}
}

func testListDirectory(t *testing.T, p *place, ref sandbox.Ref) {
	p.sh(t, ref, `mkdir -p list/sub list/.hidden && cd list && touch B a ./-n 'with space' "$(printf 'line\nline')" sub/deeper && ln -s sub link && ln -s absent dangling`)
	got, err := p.ListDirectory(t.Context(), ref, p.in("list"))
	if err != nil {
		t.Fatalf("ListDirectory: %v", err)
	}
	want := []backend.Entry{
		{Name: "-n"}, {Name: ".hidden", Directory: true}, {Name: "B"}, {Name: "a"}, {Name: "dangling"},
		{Name: "line\nline"}, {Name: "link"}, {Name: "sub", Directory: true}, {Name: "with space"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	p.sh(t, ref, "mkdir -p list/nothing")
	if got, err := p.ListDirectory(t.Context(), ref, p.in("list/nothing")); err != nil || len(got) != 0 {
		t.Errorf("an empty directory: %+v, %v", got, err)
	}
	if got, err := p.ListDirectory(t.Context(), ref, p.workdir()); err != nil || !slices.ContainsFunc(got, func(e backend.Entry) bool { return e.Name == "list" && e.Directory }) {
		t.Errorf("the working directory: %+v, %v; want list among it", got, err)
	}
	_, err = p.ListDirectory(t.Context(), ref, p.in("list/a"))
	wantError(t, "ListDirectory of a file", err, backend.ErrInvalid)
}
