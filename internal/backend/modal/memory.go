// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"sync"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// memory is what this process knows of the sandboxes it has met. It only saves
// calls: whatever it has forgotten is looked up.
type memory struct {
	mu  sync.Mutex
	met map[string]acquaintance
}

// acquaintance is what is remembered of one sandbox.
type acquaintance struct {
	key, value string    // a tag that no other sandbox has; empty: it has none
	task       string    // V1: the task it runs as
	ends       time.Time // zero: unknown
	destroyed  bool      // by us: it may be reported as alive for a while
}

// markTags are the tags that name one sandbox and are never edited: ours and
// Airflow's.
var markTags = []string{sandbox.TagAttempt, airflow.TagSandbox}

func newMemory() *memory { return &memory{met: make(map[string]acquaintance)} }

func (m *memory) of(handle string) acquaintance {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.met[handle]
}

// learn remembers what a list says. What a reply leaves out stays as it was.
func (m *memory) learn(info *pb.SandboxInfo, tags sandbox.Tags) acquaintance {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.met[info.GetId()]
	known.note(tags)
	if task := info.GetTaskInfo().GetId(); task != "" {
		known.task = task
	}
	if created, seconds := moment(info.GetCreatedAt()), info.GetTimeoutSecs(); seconds > 0 && !created.IsZero() {
		known.ends = created.Add(time.Duration(seconds) * time.Second)
	}
	m.met[info.GetId()] = known
	return known
}

// made remembers a sandbox that was just made.
func (m *memory) made(handle string, tags sandbox.Tags, ends time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := acquaintance{ends: ends}
	known.note(tags)
	m.met[handle] = known
}

func (m *memory) destroyed(handle string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.met[handle]
	known.destroyed = true
	m.met[handle] = known
}

// keepOnly forgets every sandbox that is not among handles.
func (m *memory) keepOnly(handles map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for handle := range m.met {
		if !handles[handle] {
			delete(m.met, handle)
		}
	}
}

// note remembers the tag by which one list call finds the sandbox again.
func (a *acquaintance) note(tags sandbox.Tags) {
	for _, key := range markTags {
		if tags[key] != "" {
			a.key, a.value = key, tags[key]
			return
		}
	}
}
