// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var errEnded = errors.New("the command has ended")

// inlet is the standard input of a command. Its writers are held up until the
// command reads.
type inlet struct {
	*io.PipeReader
	writer *io.PipeWriter

	mu      sync.Mutex // one writer at a time
	written atomic.Uint64
	closed  atomic.Bool
}

func newInlet() *inlet {
	r, w := io.Pipe()
	return &inlet{PipeReader: r, writer: w}
}

// write takes data that begins at offset; what was written before is skipped, so
// that a client can repeat itself.
func (i *inlet) write(offset uint64, data []byte) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	written := i.written.Load()
	if offset > written {
		return status.Errorf(codes.InvalidArgument, "standard input continues at byte %d, not %d", written, offset)
	}
	if skip := written - offset; skip < uint64(len(data)) {
		data = data[skip:]
	} else {
		return nil
	}
	n, err := i.writer.Write(data)
	i.written.Add(uint64(n))
	if err != nil {
		return status.Errorf(codes.FailedPrecondition, "standard input: %v", err)
	}
	return nil
}

// eof ends the input.
func (i *inlet) eof() {
	i.closed.Store(true)
	_ = i.writer.Close()
}

// end refuses all further input.
func (i *inlet) end() { _ = i.CloseWithError(errEnded) }
