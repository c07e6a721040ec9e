// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import "sync"

// tail keeps the last limit bytes of what is written to it. It is safe for
// concurrent use, since a stream may still deliver when its reader has given up
// waiting.
type tail struct {
	limit int

	mu    sync.Mutex
	total int64
	buf   []byte // at most twice limit between two writes
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(len(p))
	t.buf = append(t.buf, p[max(0, len(p)-t.limit):]...)
	if len(t.buf) > 2*t.limit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.limit:]...)
	}
	return len(p), nil
}

// kept returns a copy of the tail, and whether anything before it was dropped.
func (t *tail) kept() (data []byte, truncated bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.buf[max(0, len(t.buf)-t.limit):]...), t.total > int64(t.limit)
}
