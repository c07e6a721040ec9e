// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
)

// Memory keeps the document until the process ends. A janitor with nothing else
// never sees anything twice, unless it runs as a daemon. The zero value is empty.
type Memory struct {
	mu      sync.Mutex
	content []byte
}

var _ janitor.Store = (*Memory)(nil)

// Load returns the newest document.
func (m *Memory) Load(context.Context) (janitor.Document, janitor.Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	doc, err := decode(m.content)
	return doc, version(m.content), err
}

// Save replaces the document that was loaded as version old.
func (m *Memory) Save(_ context.Context, doc janitor.Document, old janitor.Version) (janitor.Version, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if version(m.content) != old {
		return "", janitor.ErrConflict
	}
	doc.Schema = janitor.DocumentSchema
	content, err := json.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("save the janitor's state in memory: %w", err)
	}
	m.content = content
	return version(content), nil
}
