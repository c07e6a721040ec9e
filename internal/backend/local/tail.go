// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

// tail keeps the last limit bytes of what is written to it.
type tail struct {
	limit int
	total int64
	buf   []byte // at most twice limit between two writes
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.total += int64(len(p))
	t.buf = append(t.buf, p[max(0, len(p)-t.limit):]...)
	if len(t.buf) > 2*t.limit {
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.limit:]...)
	}
	return len(p), nil
}

// kept returns the tail, and whether anything before it was dropped.
func (t *tail) kept() (data []byte, truncated bool) {
	return t.buf[max(0, len(t.buf)-t.limit):], t.total > int64(t.limit)
}
