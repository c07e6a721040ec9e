// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// edge is how far a page reaches back over the end of the one before, in
// seconds. The list knows no cursor: the next page is what is older than the last
// sandbox seen, and of those made in the same instant some may be missing. A
// float64 still tells a microsecond.
const edge = 1e-6

// List yields every sandbox of the app from the raw replies, which hold tags and
// times. Only an item whose reply carries no tags costs a call of its own.
func (a *app) List(ctx context.Context) iter.Seq2[sandbox.Sandbox, error] {
	return func(yield func(sandbox.Sandbox, error) bool) {
		s, err := a.enterAnew(ctx)
		if err != nil {
			yield(sandbox.Sandbox{}, a.failed("list sandboxes", "", err))
			return
		}
		seen := make(map[string]bool)
		for info, err := range s.list(ctx, nil) {
			if seen[info.GetId()] {
				continue
			}
			var found sandbox.Sandbox
			if err == nil {
				if found, err = s.read(ctx, info); errors.Is(err, backend.ErrNotFound) {
					continue // it ended meanwhile
				}
			}
			if err != nil {
				yield(sandbox.Sandbox{}, a.failed("list sandboxes", "", err))
				return
			}
			seen[found.Handle] = true
			if !yield(found, nil) {
				return
			}
		}
		a.memory.keepOnly(seen)
	}
}

// list yields the live sandboxes of the app that have all of tags, of both
// generations: SandboxListV2 shows V1 sandboxes too, SandboxList only those. An
// error comes last and means that there may be more.
func (s *session) list(ctx context.Context, tags sandbox.Tags) iter.Seq2[*pb.SandboxInfo, error] {
	return func(yield func(*pb.SandboxInfo, error) bool) {
		request := pb.SandboxListRequest_builder{AppId: s.found.AppID, Tags: wireTags(tags)}.Build()
		for p := (paging{}); ; {
			reply, err := s.rpc.SandboxListV2(ctx, request)
			if err == nil {
				err = context.Cause(ctx)
			}
			var fresh []*pb.SandboxInfo
			if err == nil {
				fresh, err = p.take(reply.GetSandboxes())
			}
			if err != nil {
				yield(nil, notSandbox(classed(err))) // NOT_FOUND is about the app
				return
			}
			for _, info := range fresh {
				if other := info.GetAppId(); other != "" && other != s.found.AppID {
					continue
				}
				if !yield(info, nil) {
					return
				}
			}
			if p.done {
				return
			}
			request.SetBeforeTimestamp(p.before)
		}
	}
}

// paging walks through a list from the newest sandbox to the oldest. Only an
// empty page ends it, as in Modal's own clients: a short one may have others
// behind it. Each page begins where the one before ended, edge included, so that
// its last sandbox comes again; only behind what looks like the last page does it
// begin after it.
type paging struct {
	before  float64         // of the next page; 0: the first
	done    bool            // no page is left
	seen    map[string]bool // the sandboxes of the latest page
	oldest  float64         // time of the last of them
	longest int             // page so far
	full    int             // the longest page that had others behind it
	instant int             // length of the latest page if it held only what had been seen; else 0
	guess   bool            // the latest page looked like the last one
}

// take returns what page adds.
func (p *paging) take(page []*pb.SandboxInfo) ([]*pb.SandboxInfo, error) {
	// A page that is full of one instant may have left others of it out, which
	// cannot be asked for. It was full if it had no room for what is older, or if
	// no page was longer.
	if p.instant > 1 && p.instant >= p.longest && (len(page) > 0 || p.full >= p.instant) {
		return nil, fmt.Errorf("%w: %d sandboxes or more were made at %s, more than a page of the list holds",
			backend.ErrUnavailable, p.instant, moment(p.oldest).Format(time.RFC3339Nano))
	}
	if len(page) == 0 {
		p.done = true
		return nil, nil
	}
	if p.guess { // wrongly: then the edge counts after all
		p.guess, p.before = false, p.oldest+edge
		return nil, nil
	}
	oldest := page[len(page)-1].GetCreatedAt()
	if err := checkPage(page); err != nil {
		return nil, err
	}
	if p.seen != nil && oldest > p.oldest {
		return nil, fmt.Errorf("%w: the list went back in time, from %s to %s", backend.ErrUnavailable, moment(p.oldest), moment(oldest))
	}
	fresh := p.fresh(page)
	switch {
	case len(fresh) == 0:
		p.instant, p.before = len(page), oldest
	case len(page) < p.longest: // it had room for all that is left
		p.instant, p.before, p.guess = 0, oldest, true
	default:
		p.instant, p.before = 0, oldest+edge
	}
	if len(fresh) > 0 {
		p.full = max(p.full, len(p.seen))
	}
	p.oldest, p.longest = oldest, max(p.longest, len(page))
	p.seen = make(map[string]bool, len(page))
	for _, info := range page {
		p.seen[info.GetId()] = true
	}
	return fresh, nil
}

// checkPage refuses a page that does not tell what it holds, or what follows it.
func checkPage(page []*pb.SandboxInfo) error {
	for _, info := range page {
		if info.GetId() == "" {
			return fmt.Errorf("%w: the list holds a sandbox without an id", backend.ErrUnavailable)
		}
	}
	if last := page[len(page)-1]; moment(last.GetCreatedAt()).IsZero() {
		return fmt.Errorf("%w: the list does not say when sandbox %s was made, and so not what follows it",
			backend.ErrUnavailable, last.GetId())
	}
	return nil
}

// fresh returns what the page before did not hold, each once.
func (p *paging) fresh(page []*pb.SandboxInfo) []*pb.SandboxInfo {
	var fresh []*pb.SandboxInfo
	here := make(map[string]bool, len(page))
	for _, info := range page {
		if id := info.GetId(); !p.seen[id] && !here[id] {
			here[id] = true
			fresh = append(fresh, info)
		}
	}
	return fresh
}

// read makes a sandbox of a list item.
func (s *session) read(ctx context.Context, info *pb.SandboxInfo) (sandbox.Sandbox, error) {
	tags := tagsOf(info.GetTags())
	if len(tags) == 0 {
		var err error
		if tags, err = s.tags(ctx, info.GetId()); err != nil {
			return sandbox.Sandbox{}, err
		}
	}
	known := s.memory.learn(info, tags)
	found := sandbox.Sandbox{
		Ref:        sandbox.Ref{Handle: info.GetId()},
		Name:       info.GetName(),
		State:      sandbox.Running,
		StateWord:  "running", // the list shows no others
		Tags:       tags,
		TagsKnown:  true,
		CreatedAt:  moment(info.GetCreatedAt()),
		ServerEnds: known.ends,
		Attached:   -1,
	}
	if known.destroyed {
		found.State, found.StateWord = sandbox.Stopping, "terminating"
	}
	return found, nil
}

// farthest is a time past which the wire tells none: the year 9999.
const farthest = 253_402_300_800

// moment reads a time of the wire, in seconds; 0, and what is no time, is unknown.
func moment(seconds float64) time.Time {
	if !(seconds > 0 && seconds < farthest) {
		return time.Time{}
	}
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}
