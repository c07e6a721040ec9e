// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"io"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// spoolAhead is how many bytes a command can be ahead of its reader before it
	// is held up, as by a full pipe.
	spoolAhead = 64 << 20
	// spoolBehind is how many bytes stay readable behind the reader.
	spoolBehind = 16 << 20
	// spoolChunk is how many bytes one message carries.
	spoolChunk = 64 << 10
)

// spool holds one output stream of a command: written once, read from any
// offset, also after the command's end.
type spool struct {
	mu      sync.Mutex
	changed chan struct{} // closed and replaced on each change
	data    []byte
	base    int64 // the offset of data
	taken   int64 // the highest offset that a reader asked for
	dropped bool  // what is written now is thrown away
	closed  bool
}

func newSpool(keep bool) *spool {
	return &spool{changed: make(chan struct{}), dropped: !keep}
}

// Write takes all of p, when there is room for it.
func (s *spool) Write(p []byte) (int, error) {
	for {
		s.mu.Lock()
		if s.dropped || s.closed {
			s.mu.Unlock()
			return len(p), nil
		}
		if s.base+int64(len(s.data))-s.taken < spoolAhead {
			s.data = append(s.data, p...)
			s.notify()
			s.mu.Unlock()
			return len(p), nil
		}
		changed := s.changed
		s.mu.Unlock()
		<-changed
	}
}

// next returns what follows offset, waiting for it; io.EOF at the end.
func (s *spool) next(ctx context.Context, offset int64) ([]byte, error) {
	for {
		s.mu.Lock()
		s.take(offset)
		at, changed := offset-s.base, s.changed
		switch {
		case at < 0:
			s.mu.Unlock()
			return nil, status.Errorf(codes.OutOfRange, "output before byte %d is gone", s.base)
		case at < int64(len(s.data)):
			chunk := s.data[at:min(at+spoolChunk, int64(len(s.data)))]
			s.mu.Unlock()
			return chunk, nil
		case s.closed:
			s.mu.Unlock()
			return nil, io.EOF
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

// take lets go of what lies far behind the reader.
func (s *spool) take(offset int64) {
	if offset <= s.taken {
		return
	}
	s.taken = min(offset, s.base+int64(len(s.data)))
	if behind := s.taken - s.base; behind > 2*spoolBehind {
		s.data = append([]byte(nil), s.data[behind-spoolBehind:]...)
		s.base += behind - spoolBehind
	}
	s.notify()
}

// discard throws away what is written from now on.
func (s *spool) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropped = true
	s.notify()
}

func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.notify()
}

// notify is called with mu held.
func (s *spool) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}
