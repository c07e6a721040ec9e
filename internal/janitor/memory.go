// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
)

// NewMemory returns a Store that forgets with the process: for a single sweep
// without a state file, in which only what is dated may go, and for tests.
func NewMemory() Store { return &memory{} }

type memory struct {
	mu       sync.Mutex
	data     []byte
	versions int
}

func (m *memory) Load(context.Context) (Document, Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var document Document
	if m.versions == 0 {
		return document, "", nil
	}
	if err := json.Unmarshal(m.data, &document); err != nil {
		return Document{}, "", fmt.Errorf("decode: %w", err)
	}
	return document, m.version(), nil
}

func (m *memory) Newest(context.Context) (Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.version(), nil
}

func (m *memory) Save(_ context.Context, document Document, version Version) (Version, error) {
	data, err := json.Marshal(document)
	if err != nil {
		return "", fmt.Errorf("encode: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if version != m.version() {
		return "", ErrConflict
	}
	m.data = data
	m.versions++
	return m.version(), nil
}

func (m *memory) version() Version {
	if m.versions == 0 {
		return ""
	}
	return Version(strconv.Itoa(m.versions))
}
