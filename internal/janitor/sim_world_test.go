// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// world is what really is: two places full of sandboxes, true time, and the
// document. Runs see it only through a view, which may lie as real places do.
type world struct {
	*rand.Rand

	now           time.Time     // true time
	skew          time.Duration // of the clock by which the janitors live
	jumps         int           // how often that clock was set
	tilted        bool          // it was set during the run in progress, which a claim does not outlast
	places        []*site
	prod, staging *deployed // staging is asked by nobody
	store         document
	cfg           rules
	views         []*view // of the runs in progress

	askings map[seen]asking
	met     map[seen]time.Time // when a saved look last met a holder
	said    map[seen]bool
	results map[ActionResult]int
	exits   map[Exit]int

	calm   bool // no faults, no events
	steps  int
	runs   int
	damage []string
	trace  []string
}

// rules are the knobs of one simulation: which rail is removed, and what
// happens more often so that its absence shows.
type rules struct {
	blind       func(*verdict.Facts, *verdict.Policy)
	options     func(*Options)
	noVersions  bool // the store replaces whatever is there
	noIntents   bool // the store drops a save that still holds the claim
	noClaims    bool // the store hides who holds the document
	staleGet    bool // a read by id answers from the last listing
	absentGet   bool // a read by id finds nothing that was not listed
	clockFaults float64
	fraudulent  float64 // how often a place seems to be empty
	storeLosses float64
	stubborn    float64 // sandboxes that refuse to go
	orphans     float64 // leftovers instead of sandboxes
	lags        float64 // lists that show the past
	abandoned   float64 // sandboxes whose task is killed at once
	rivals      float64 // a second janitor beside the first
	strangers   float64 // how often another account answers
	nameless    bool    // no place says who answers
	staleAsk    bool    // Airflow answers before a write as it did when it was first asked
	staleCheck  bool    // and after it as it did before
	sameClock   bool    // Airflow's clock seems to be right
	returns     float64 // how often a task comes to what was read last, or goes from it
	unlocked    bool    // nothing is taken from Airflow before it goes
	noRestore   bool    // what puts a claim back only seems to be written
}

// site is one place.
type site struct {
	name      string
	remote    bool // it has its own clock and ends sandboxes itself; else it is this host
	boxes     map[sandbox.Ref]*box
	left      map[sandbox.Ref]*sandbox.Leftover
	past      []sandbox.Sandbox // what a lagging list shows
	pastAt    time.Time
	signedOut bool
	stranger  bool // another account answers
	made      int
}

type box struct {
	sandbox.Sandbox

	stubborn bool
	untold   bool // replies do not carry its tags
	bare     bool // replies to a list do not; they are read one by one
	mortal   bool // the backend ends it
	slow     time.Duration
	goneAt   time.Time
	staging  bool            // tasks of that Airflow use it, whatever its tags say
	robbed   map[string]bool // holders that live, and whose claim a janitor took off
}

var simStart = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

const (
	simCap     = 6
	simOrphan  = 2 * time.Hour
	simShare   = 0.5
	simExpired = 5 * time.Minute
	simFailed  = 15 * time.Minute
	simRetired = 30 * time.Minute
)

func newWorld(seed uint64, cfg rules) *world {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 0)), now: simStart, cfg: cfg,
		askings: make(map[seen]asking), met: make(map[seen]time.Time), said: make(map[seen]bool),
		results: make(map[ActionResult]int), exits: make(map[Exit]int),
	}
	w.prod, w.staging = newDeployed("prod"), newDeployed("staging")
	w.places = []*site{newSite("remote", true), newSite("other", true)}
	if w.hosted(seed) {
		w.places[1] = newSite("host", false)
	}
	for range 8 {
		w.create(w.places[0])
		w.create(w.places[1])
	}
	return w
}

// hosted says in which worlds a place lives by the janitor's own clock. There
// nothing else tells that the clock is wrong.
func (w *world) hosted(seed uint64) bool { return seed%2 == 0 }

func newSite(name string, remote bool) *site {
	return &site{
		name: name, remote: remote,
		boxes: make(map[sandbox.Ref]*box), left: make(map[sandbox.Ref]*sandbox.Leftover),
	}
}

// refs returns the keys of m in order, so that the same seed is the same run.
func refs[V any](m map[sandbox.Ref]V) []sandbox.Ref {
	keys := make([]sandbox.Ref, 0, len(m))
	for ref := range m {
		keys = append(keys, ref)
	}
	slices.SortFunc(keys, func(a, b sandbox.Ref) int {
		return verdict.Key{Ref: a}.Compare(verdict.Key{Ref: b})
	})
	return keys
}

func (w *world) chance(p float64) bool { return w.Float64() < p }

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.Int64N(int64(d) + 1)) }

func (w *world) pick(s *site) *box {
	if len(s.boxes) == 0 {
		return nil
	}
	keys := refs(s.boxes)
	return s.boxes[keys[w.IntN(len(keys))]]
}

func (w *world) pickLeft(s *site) *sandbox.Leftover {
	if len(s.left) == 0 {
		return nil
	}
	keys := refs(s.left)
	return s.left[keys[w.IntN(len(keys))]]
}

// create makes a sandbox of any kind, sometimes under a handle that was used
// before, and sometimes one that Airflow and we have nothing to do with.
func (w *world) create(s *site) {
	s.made++
	handle := fmt.Sprintf("box-%02d", w.IntN(30))
	for ref := range s.boxes {
		if ref.Handle == handle {
			return
		}
	}
	b := &box{stubborn: w.chance(w.cfg.stubborn), slow: w.upTo(20 * time.Minute)}
	b.Ref = sandbox.Ref{Handle: handle, Incarnation: strconv.Itoa(s.made)}
	b.State, b.TagsKnown, b.Attached = sandbox.Running, true, -1
	b.CreatedAt, b.StateSince = w.now, w.now
	b.robbed = make(map[string]bool)
	b.Tags = sandbox.Tags{airflow.TagSandbox: handle, airflow.TagOwner: fmt.Sprintf("etl/r%d", w.IntN(4)), "team": "data"}
	if b.staging = s.name == "remote" && w.chance(0.3); b.staging && w.chance(0.6) {
		b.Tags[sandbox.TagDeployment] = "staging"
	} else if !b.staging && w.chance(0.85) {
		b.Tags[sandbox.TagDeployment] = "prod"
	}
	if w.chance(0.1) {
		b.Tags[airflow.TagOwner] = "keep/run"
	}
	if w.chance(0.1) {
		b.Tags["team"] = "research"
	}
	if w.chance(0.3) {
		b.Tags[sandbox.TagManagedBy] = sandbox.ManagedByTerraform
	}
	end := w.now.Add(time.Minute + w.upTo(3*time.Hour))
	if w.chance(0.9) {
		b.Tags[airflow.TagExpiresAt] = airflow.FormatExpiry(end)
	} else if w.chance(0.3) {
		b.Tags[airflow.TagExpiresAt] = "soon"
	}
	if s.remote {
		b.ServerEnds, b.mortal, b.bare = end, w.chance(0.5), w.chance(0.2)
	}
	if w.chance(0.1) { // foreign: no marker, but an end that passes
		b.Tags = sandbox.Tags{"team": "data"}
	}
	switch {
	case w.chance(0.03):
		b.Problem = "its record cannot be read"
	case w.chance(0.03):
		b.untold = true
	case w.chance(0.03):
		b.CreatedAt = time.Time{}
	}
	if !s.remote && len(s.left) > 0 && w.chance(0.3) {
		b.Workspaces = []string{w.pickLeft(s).Path}
	}
	s.boxes[b.Ref] = b
	if w.chance(w.cfg.abandoned) {
		w.abandon(b)
	}
}

// leave makes something that outlives sandboxes.
func (w *world) leave(s *site) {
	s.made++
	handle := fmt.Sprintf("left-%02d", w.IntN(12))
	for ref := range s.left {
		if ref.Handle == handle {
			return
		}
	}
	l := &sandbox.Leftover{
		Ref:  sandbox.Ref{Handle: handle, Incarnation: strconv.Itoa(s.made)},
		Kind: "workspace", Path: "/host/" + handle, CreatedAt: w.now, ChangedAt: w.now,
	}
	if w.chance(0.05) {
		l.Problem = "it is a link"
	}
	s.left[l.Ref] = l
}
