// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"crypto/rand"
	"slices"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// sandbox is one sandbox of either generation. Its fields are guarded by
// Server.mu. It has no process and no directory before its first command.
type sandbox struct {
	id, taskID string
	generation Generations
	workspace  *workspace
	app        *app
	name       string
	created    time.Time
	definition *pb.Sandbox
	tags       []*pb.SandboxTag
	env        map[string]string
	access     *pb.NetworkAccess

	commands  map[string]*command // by exec id; the entrypoint's is empty
	busy      int                 // commands that run
	idleSince time.Time
	ended     *ending

	dir string // the working directory on this host; empty before the first command
	uid int    // whose files they are; 0: this process's
}

// nameKey is where a sandbox's name is unique among the running.
type nameKey struct {
	app  *app
	name string
}

// ending is how and when a sandbox ended.
type ending struct {
	at     time.Time
	result *pb.GenericResult
	byHand bool // somebody asked for it; pollers learn that later
}

// The ends that are not an entrypoint's. The words are Modal's own
// (modal-labs/libmodal#288).
var (
	terminated = pb.GenericResult_builder{
		Status: pb.GenericResult_GENERIC_STATUS_TERMINATED, Exception: "Task terminated due to user request",
	}.Build()
	timedOut = pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_TIMEOUT}.Build()
	idledOut = pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_IDLE_TIMEOUT}.Build()
	evicted  = pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_MEMORY_MANAGER_EVICTION}.Build()
)

// exited is the result of an entrypoint.
func exited(code int) *pb.GenericResult {
	result := pb.GenericResult_builder{Status: pb.GenericResult_GENERIC_STATUS_SUCCESS, Exitcode: int32(code)}
	if code != 0 {
		result.Status = pb.GenericResult_GENERIC_STATUS_FAILURE
	}
	return result.Build()
}

// newIDs makes ids of the shapes by which clients tell the generations apart.
func newIDs(generation Generations) (id, taskID string) {
	if generation == V1 {
		return "sb-" + randomBase62(22), "ta-" + randomBase62(21) + "0"
	}
	return "sb-" + rand.Text(), "ta-" + rand.Text() + "V"
}

// add keeps a sandbox in the order of creation.
func (w *workspace) add(box *sandbox) {
	w.sandboxes[box.id] = box
	at, _ := slices.BinarySearchFunc(w.created, box.created, func(other *sandbox, created time.Time) int {
		if other.created.After(created) {
			return 1
		}
		return -1 // after all that are as old
	})
	w.created = slices.Insert(w.created, at, box)
	if box.name != "" {
		w.names[nameKey{box.app, box.name}] = box
	}
}

// sandbox finds one by id, in the state that it has now.
func (s *Server) sandbox(w *workspace, id string) (*sandbox, error) {
	box := w.sandboxes[id]
	if box == nil {
		return nil, status.Errorf(codes.NotFound, "Sandbox with id '%s' not found", id)
	}
	s.settle(box)
	if s.forgotten(box) {
		return nil, status.Errorf(codes.NotFound, "Sandbox with id '%s' not found", id)
	}
	return box, nil
}

// holder finds the sandbox that has a name, or had it last.
func (s *Server) holder(w *workspace, a *app, name string) *sandbox {
	box := w.names[nameKey{a, name}]
	if box == nil {
		return nil
	}
	s.settle(box)
	if s.forgotten(box) {
		return nil
	}
	return box
}

// holdsName reports whether nobody else can have the sandbox's name.
func (s *Server) holdsName(box *sandbox) bool {
	return box.ended == nil || s.opts.HoldName && s.visibleResult(box) == nil
}

// due is when the sandbox ends by itself, and how.
func (s *Server) due(box *sandbox) (time.Time, *pb.GenericResult) {
	lifetime := time.Duration(box.definition.GetTimeoutSecs()) * time.Second
	end, how := box.created.Add(lifetime+s.opts.TimeoutLag), timedOut
	if idle := time.Duration(box.definition.GetIdleTimeoutSecs()) * time.Second; idle > 0 && box.busy == 0 {
		if idleEnd := box.idleSince.Add(idle); idleEnd.Before(end) {
			end, how = idleEnd, idledOut
		}
	}
	return end, how
}

// settle ends a sandbox whose time is over.
func (s *Server) settle(box *sandbox) {
	if box.ended != nil {
		return
	}
	if end, how := s.due(box); !s.Now().Before(end) {
		s.endAt(box, end, how)
	}
}

// end ends a sandbox now.
func (s *Server) end(box *sandbox, how *pb.GenericResult) {
	s.settle(box)
	if box.ended == nil {
		s.endAt(box, s.Now(), how)
	}
}

func (s *Server) endAt(box *sandbox, at time.Time, how *pb.GenericResult) {
	box.ended = &ending{at: at, result: how, byHand: how == terminated}
	running := make([]*command, 0, len(box.commands))
	for _, cmd := range box.commands {
		cmd.kill()
		running = append(running, cmd)
	}
	if box.dir != "" {
		s.running.Go(func() {
			for _, cmd := range running {
				<-cmd.over
			}
			if err := removeAll(box.dir); err != nil {
				s.log.Warn("the files of a sandbox were not removed", "sandbox", box.id, "error", err)
			}
		})
	}
	s.notify()
}

// visibleResult is what pollers see: nothing while the sandbox runs, and for a
// while after it was terminated.
func (s *Server) visibleResult(box *sandbox) *pb.GenericResult {
	if box.ended == nil || s.Now().Before(s.visibleAt(box)) {
		return nil
	}
	return box.ended.result
}

func (s *Server) visibleAt(box *sandbox) time.Time {
	if box.ended.byHand {
		return box.ended.at.Add(s.opts.PollLag)
	}
	return box.ended.at
}

// forgotten reports whether the sandbox ended so long ago that it is unknown.
func (s *Server) forgotten(box *sandbox) bool {
	return s.opts.RetainFinished > 0 && s.visibleResult(box) != nil &&
		!s.Now().Before(s.visibleAt(box).Add(s.opts.RetainFinished))
}
