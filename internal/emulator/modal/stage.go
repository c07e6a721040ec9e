// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
)

// Seed is a sandbox to put in place without a call, in the server's own
// workspace.
type Seed struct {
	Environment string // empty: the default one
	App         string // is made if missing
	Generation  Generations
	Name        string
	Tags        map[string]string
	Created     time.Time     // zero: now
	Timeout     time.Duration // whole seconds
}

// Seed puts sandboxes in place and returns their ids. It checks nothing but
// that they have an environment.
func (s *Server) Seed(seeds ...Seed) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.workspaces[s.opts.Workspace]
	ids := make([]string, 0, len(seeds))
	for _, seed := range seeds {
		e, err := w.environment(seed.Environment)
		if err != nil {
			return ids, err
		}
		a, err := w.app(e, seed.App)
		if err != nil {
			a = w.addApp(e, seed.App, s.Now())
		}
		box := s.newSandbox(w, a, cmp.Or(seed.Generation, V2), seed.definition())
		box.tags = tagList(seed.Tags)
		if !seed.Created.IsZero() {
			box.created, box.idleSince = seed.Created, seed.Created
		}
		s.keep(box)
		ids = append(ids, box.id)
	}
	return ids, nil
}

func (seed Seed) definition() *pb.Sandbox {
	return pb.Sandbox_builder{Name: &seed.Name, TimeoutSecs: uint32(seed.Timeout / time.Second)}.Build()
}

func tagList(tags map[string]string) []*pb.SandboxTag {
	list := make([]*pb.SandboxTag, 0, len(tags))
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, pb.SandboxTag_builder{TagName: name, TagValue: tags[name]}.Build())
	}
	return list
}

// State is what the server knows of a sandbox, without the delays that its
// clients see.
type State struct {
	ID, Name, App string
	Generation    Generations
	Created       time.Time
	Tags          map[string]string
	Running       bool
	Policy        *pb.NetworkAccess // nil: open
}

// Sandboxes returns every sandbox of the server's own workspace, oldest first,
// those included that have ended.
func (s *Server) Sandboxes() []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	var states []State
	for _, box := range s.workspaces[s.opts.Workspace].created {
		s.settle(box)
		tags := make(map[string]string, len(box.tags))
		for _, tag := range box.tags {
			tags[tag.GetTagName()] = tag.GetTagValue()
		}
		states = append(states, State{
			ID: box.id, Name: box.name, App: box.app.name, Generation: box.generation,
			Created: box.created, Tags: tags, Running: box.ended == nil, Policy: box.access,
		})
	}
	return states
}

// ErrUnknown is the error for an id that the server does not have.
var ErrUnknown = errors.New("no such sandbox")

// Evict ends a sandbox before its time, as Modal does when it needs the room.
func (s *Server) Evict(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	box := s.workspaces[s.opts.Workspace].sandboxes[id]
	if box == nil {
		return fmt.Errorf("evict %s: %w", id, ErrUnknown)
	}
	s.end(box, evicted)
	return nil
}
