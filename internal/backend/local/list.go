// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"golang.org/x/sync/errgroup"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// How List reads: that many records at a time, by that many readers. More
// readers gain nothing, the directory cache being the bound.
const (
	listBatch   = 256
	listReaders = 2
)

// List yields every entry of the state directory in byte order of handles. What
// vanishes meanwhile is left out.
func (h *host) List(ctx context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		for e, err := range h.entries(ctx, "list") {
			if !yield(e.Sandbox, err) {
				return
			}
		}
	}
}

// entry is what is read of one sandbox: Sandbox.Problem is set or record is.
type entry struct {
	sandbox.Sandbox
	record record
}

// entries reads every sandbox, in byte order of handles: one call for the handles,
// then one for the records of each batch. An error is the last thing it yields.
func (h *host) entries(ctx context.Context, verb string) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		st, err := openState(h.dir)
		if err != nil {
			yield(entry{}, h.failed(verb, "", err))
			return
		}
		defer st.Close()
		var handles []string
		err = h.call(ctx, read(verb), func(context.Context) (err error) {
			handles, err = st.names(sandboxesDir)
			return err
		})
		batch := make([]entry, listBatch)
		for err == nil && len(handles) > 0 {
			n := min(len(handles), listBatch)
			err = h.call(ctx, read(verb+"-records"), func(ctx context.Context) error { return st.readBatch(ctx, handles[:n], batch[:n]) })
			if err != nil {
				break
			}
			for _, e := range batch[:n] {
				if e.Handle != "" && !yield(e, nil) {
					return
				}
			}
			handles = handles[n:]
		}
		if err != nil {
			yield(entry{}, h.failed(verb, "", err))
		}
	}
}

// readBatch reads handles into out; one that has vanished becomes the zero value.
func (st *state) readBatch(ctx context.Context, handles []string, out []entry) error {
	var readers errgroup.Group
	for first := range listReaders {
		readers.Go(func() error {
			for i := first; i < len(handles); i += listReaders {
				if err := context.Cause(ctx); err != nil {
					return err
				}
				var err error
				if out[i], err = st.look(handles[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return readers.Wait()
}

// look reads one entry; the zero value means that it is not there.
func (st *state) look(handle string) (entry, error) {
	rec, err := st.readRecord(handle)
	problem, bad := errors.AsType[*unreadable](err)
	switch {
	case bad:
		return entry{Sandbox: broken(handle, problem.reason)}, nil
	case errors.Is(err, fs.ErrNotExist):
		return entry{}, nil
	case err != nil:
		return entry{}, err
	}
	return entry{rec.sandbox(), rec}, nil
}

// Get reads one record. One that cannot be read is not an error: its Problem
// says why.
func (h *host) Get(ctx context.Context, ref sandbox.Ref) (sandbox.Sandbox, error) {
	var found sandbox.Sandbox
	err := h.do(ctx, read("get"), func(_ context.Context, st *state) error {
		rec, err := st.find(ref)
		if problem, ok := errors.AsType[*unreadable](err); ok {
			found = broken(ref.Handle, problem.reason)
			return nil
		}
		if err != nil {
			return err
		}
		found = rec.sandbox()
		return nil
	})
	if err != nil {
		return sandbox.Sandbox{}, h.failed("get sandbox", ref.Handle, err)
	}
	return found, nil
}

// Find reads every record for the mark.
func (h *host) Find(ctx context.Context, mark string) ([]sandbox.Sandbox, error) {
	if mark == "" {
		return nil, fmt.Errorf("%w: an empty mark finds nothing", backend.ErrInvalid)
	}
	var found []sandbox.Sandbox
	for e, err := range h.entries(ctx, "find") {
		if err != nil {
			return nil, err
		}
		if e.record.Mark == mark {
			found = append(found, e.Sandbox)
		}
	}
	return found, nil
}
