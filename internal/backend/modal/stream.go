// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
)

// stream reads one output of a command in the background.
type stream struct {
	from  io.ReadCloser
	moved atomic.Int64  // bytes so far
	done  chan struct{} // closed at the end
	err   error         // readable then; nil: read to the end
}

// drain copies from to to.
func drain(from io.ReadCloser, to io.Writer) *stream {
	s := &stream{from: from, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		_, s.err = io.Copy(&counting{to, &s.moved}, from)
	}()
	return s
}

type counting struct {
	io.Writer
	moved *atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	c.moved.Add(int64(len(p)))
	return c.Writer.Write(p)
}

// close ends the reading. Nothing is written to the writer after it.
func (s *stream) close() {
	_ = s.from.Close()
	<-s.done
}

// settle waits for the end of the stream while it still moves, and reports
// whether it was reached.
func (s *stream) settle(ctx context.Context) bool {
	quiet := time.NewTicker(drainQuiet)
	defer quiet.Stop()
	for moved := s.moved.Load(); ; {
		select {
		case <-s.done:
			return true
		case <-ctx.Done():
			return false
		case <-quiet.C:
			if now := s.moved.Load(); now != moved {
				moved = now
				continue
			}
			return false
		}
	}
}

// bothWhole waits for the rest of the output and reports whether it is all
// there. Past the deadline what there is counts: the client ends its readers.
func bothWhole(ctx context.Context, a, b *stream, timedOut bool) (bool, error) {
	whole := a.settle(ctx)
	whole = b.settle(ctx) && whole
	for _, s := range []*stream{a, b} {
		select {
		case <-s.done:
			if s.err != nil && (!timedOut || !is[sdk.ExecTimeoutError](s.err)) {
				return false, s.err
			}
		default:
		}
	}
	return whole, nil
}
