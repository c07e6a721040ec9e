// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// defaultMaxBytes bounds one copied file: 100 MiB.
const defaultMaxBytes = 100 << 20

func (a *app) cp() *cobra.Command {
	var limit int64
	cmd := &cobra.Command{
		Use:   "cp CONNECTION SOURCE TARGET",
		Short: "Copy one file into or out of a sandbox",
		Long: `Copies one file. One of SOURCE and TARGET is HANDLE:PATH, the other a file of
this host, or - for standard input or output. A file of this host whose name
holds a colon is written with a slash before it, as in ./a:b. Nothing is left at
the target when the copy fails, and what is no regular file is never replaced. The
bytes are copied, and no permissions.`,
		Args: arguments("CONNECTION", "SOURCE", "TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit <= 0 {
				return cli.Usage("--max-bytes must be more than 0")
			}
			source, target := parseEnd(args[1]), parseEnd(args[2])
			if source.inside() == target.inside() {
				return cli.Usage("one of SOURCE and TARGET, and not both, must be HANDLE:PATH")
			}
			for _, end := range []end{source, target} {
				if end.inside() && !path.IsAbs(end.path) {
					return cli.Usage("the path inside a sandbox is absolute, as in %s:%s", end.handle, path.Join(sandbox.DefaultWorkdir, cmp.Or(end.path, "FILE")))
				}
			}
			conn, err := open(args[0])
			if err != nil {
				return err
			}
			if source.inside() {
				return a.copyOut(cmd, conn, source, target.path, limit)
			}
			return a.copyIn(cmd, conn, source.path, target, limit)
		},
	}
	cmd.Flags().Int64Var(&limit, "max-bytes", defaultMaxBytes, "`BYTES` that the file may have at most")
	return cmd
}

// end is one end of a copy: a path in a sandbox or, without a handle, on this host.
type end struct{ handle, path string }

func (e end) inside() bool { return e.handle != "" }

// parseEnd takes what stands before a colon for a handle, unless it holds a slash.
func parseEnd(arg string) end {
	if handle, path, ok := strings.Cut(arg, ":"); ok && handle != "" && !strings.Contains(handle, "/") {
		return end{handle, path}
	}
	return end{path: arg}
}

// copied is the JSON of cp.
type copied struct {
	Handle string `json:"handle"`
	Source string `json:"source"`
	Target string `json:"target"`
	Bytes  int64  `json:"bytes"`
}

func (a *app) copyOut(cmd *cobra.Command, conn connection, source end, target string, limit int64) error {
	s, err := conn.find(cmd.Context(), source.handle)
	if err != nil {
		return err
	}
	read := func(w io.Writer) (int64, error) {
		into := &outward{to: w}
		n, err := conn.ReadFile(cmd.Context(), s.Ref, source.path, limit, into)
		if into.failed != nil {
			return n, into.failed
		}
		return n, conn.at(s.Handle, err)
	}
	if target == "-" {
		_, err := read(cmd.OutOrStdout())
		return err
	}
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		target = filepath.Join(target, path.Base(source.path))
	}
	file, err := replaceable(target)
	if err != nil {
		return err
	}
	n, err := replaceFile(file, read)
	if err != nil {
		return err
	}
	return a.printCopied(cmd, copied{s.Handle, source.path, target, n})
}

// replaceable is the file that target leads to. A device or a pipe is refused: a
// file moved to its place would take it from this host.
func replaceable(target string) (string, error) {
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return target, nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", cli.Usage("%s is not a regular file; with - for TARGET the file goes to standard output", target)
	}
	return filepath.EvalSymlinks(target)
}

// replaceFile writes a file beside target and moves it there once it is whole.
func replaceFile(target string, write func(io.Writer) (int64, error)) (n int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(target), ".sandbox-cp-*")
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	n, err = write(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return n, err
	}
	return n, os.Rename(f.Name(), target)
}

func (a *app) copyIn(cmd *cobra.Command, conn connection, source string, target end, limit int64) error {
	s, err := conn.find(cmd.Context(), target.handle)
	if err != nil {
		return err
	}
	from := cmd.InOrStdin()
	if source != "-" {
		f, err := os.Open(source)
		if err != nil {
			return err
		}
		defer f.Close()
		from = f
		if strings.HasSuffix(target.path, "/") {
			target.path += filepath.Base(source)
		}
	}
	counted := &bounded{ctx: cmd.Context(), from: from, limit: limit}
	if err := conn.WriteFile(cmd.Context(), s.Ref, target.path, counted); err != nil {
		return cmp.Or(counted.failed, conn.at(s.Handle, err))
	}
	return a.printCopied(cmd, copied{s.Handle, source, target.path, counted.read})
}

// outward remembers why this host took no more: a backend has no words for that.
type outward struct {
	to     io.Writer
	failed error
}

func (o *outward) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	o.failed = cmp.Or(o.failed, err)
	return n, err
}

// bounded reads up to limit bytes and fails for one more, or when ctx ends. It
// remembers why this host gave no more.
type bounded struct {
	ctx         context.Context
	from        io.Reader
	read, limit int64
	failed      error
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	n, err := b.from.Read(p)
	if b.read += int64(n); b.read > b.limit {
		return 0, fmt.Errorf("%w: more than %d bytes", backend.ErrTooLarge, b.limit)
	}
	if err != nil && err != io.EOF {
		b.failed = err
	}
	return n, err
}

func (a *app) printCopied(cmd *cobra.Command, c copied) error {
	if a.output == "json" {
		return cli.WriteJSON(cmd.OutOrStdout(), c)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "copied %d bytes to %s\n", c.Bytes, c.Target)
	return err
}
