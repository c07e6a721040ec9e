// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"io"
	"iter"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func (h *host) Exec(context.Context, sandbox.Ref, backend.Command) (backend.Result, error) {
	return backend.Result{}, backend.ErrUnsupported
}
func (h *host) ReadFile(ctx context.Context, ref sandbox.Ref, path string, limit int64, w io.Writer) (int64, error) {
	return 0, backend.ErrUnsupported
}
func (h *host) WriteFile(ctx context.Context, ref sandbox.Ref, path string, r io.Reader) error {
	return backend.ErrUnsupported
}
func (h *host) ListDirectory(ctx context.Context, ref sandbox.Ref, path string) ([]backend.Entry, error) {
	return nil, backend.ErrUnsupported
}
func (h *host) BuildImage(ctx context.Context, spec backend.ImageSpec, log io.Writer) (reference string, err error) {
	return "", backend.ErrUnsupported
}
func (h *host) HasImage(ctx context.Context, reference string) (bool, error) {
	return false, backend.ErrUnsupported
}
func (h *host) DeleteImage(ctx context.Context, reference string) error {
	return backend.ErrUnsupported
}
func (h *host) Leftovers(context.Context) iter.Seq2[sandbox.Leftover, error] { return nil }
func (h *host) Remove(context.Context, sandbox.Leftover) error               { return backend.ErrUnsupported }
