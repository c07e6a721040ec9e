// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import "sync"

// Tail keeps the last Limit bytes of what is written to it, as Airflow keeps
// those of a command's output. It is safe for concurrent use, since a stream may
// still deliver when its reader has given up waiting.
type Tail struct {
	Limit int

	mu    sync.Mutex
	total int64
	buf   []byte // at most twice Limit between two writes
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(len(p))
	t.buf = append(t.buf, p[max(0, len(p)-t.Limit):]...)
	if len(t.buf) > 2*t.Limit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.Limit:]...)
	}
	return len(p), nil
}

// Kept returns a copy of the tail, and whether anything before it was dropped.
func (t *Tail) Kept() (data []byte, truncated bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.buf[max(0, len(t.buf)-t.Limit):]...), t.total > int64(t.Limit)
}
