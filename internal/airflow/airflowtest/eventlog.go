// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package airflowtest

import (
	"bytes"
	"sync"
)

// eventLog keeps what a program writes and tells when a text was in it.
type eventLog struct {
	seen chan struct{} // closed once the text was written

	mu      sync.Mutex
	text    []byte
	written bytes.Buffer
}

func newEventLog(text string) *eventLog {
	return &eventLog{seen: make(chan struct{}), text: []byte(text)}
}

// Write keeps p.
func (l *eventLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.Write(p)
	if l.text != nil && bytes.Contains(l.written.Bytes(), l.text) {
		l.text = nil
		close(l.seen)
	}
	return len(p), nil
}

// String is all that was written.
func (l *eventLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.written.String()
}
