// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// The oracle knows the truth and watches every call. It is written from the
// promises and shares no line with what it watches.

// simLongGap is after how long without a look the clock may have been set.
const simLongGap = 8 * 24 * time.Hour

// clockError is how wrong the clock of a host may be without anybody noticing.
const clockError = time.Minute

// seen names a thing across places.
type seen struct {
	place string
	verdict.Key
}

// witness is the truth at the moment of a fresh read.
type witness struct {
	box   sandbox.Sandbox // what was told
	keeps string          // why it must stand; empty: it is dead
	kept  string          // and why it had to at the last look
}

// witnesses are what the oracle remembers of one run.
type witnesses struct {
	known    Document // as it was when the run took it
	hasKnown bool

	clocks    map[string]time.Time                       // the janitor's clock at the first listing, by place
	looked    map[string]time.Time                       // and the true time
	ended     map[string]int                             // listings of each kind that ended, or broke
	partial   map[string]bool                            // the look was not complete
	empty     map[string]bool                            // the look showed nothing
	strangers map[string]bool                            // and another account
	listed    map[string]map[sandbox.Ref]sandbox.Sandbox // by the first listing
	used      map[string]map[string]bool                 // paths in use at the last listing
	left      map[string]map[sandbox.Ref]bool
	size      map[string]int // what the first listing showed
	yielded   map[string]int // and how many times it showed something
	reads     map[seen]witness
	heard     heard
	questions int                    // put to Airflow
	released  map[seen]string        // holders whose claim this run took off
	locked    map[seen]string        // claims by which it took something from Airflow
	pretended map[sandbox.Ref]string // holders that only seem to be written
	untried   map[seen]asking        // as it was before a release
	focus     *box                   // what was read last
	gone      map[seen]bool
	removals  map[string]int
	asks      int
}

func newWitnesses() witnesses {
	return witnesses{
		clocks: make(map[string]time.Time), looked: make(map[string]time.Time), ended: make(map[string]int),
		partial: make(map[string]bool), empty: make(map[string]bool), strangers: make(map[string]bool),
		listed: make(map[string]map[sandbox.Ref]sandbox.Sandbox),
		used:   make(map[string]map[string]bool), left: make(map[string]map[sandbox.Ref]bool),
		size: make(map[string]int), reads: make(map[seen]witness), gone: make(map[seen]bool),
		removals: make(map[string]int), yielded: make(map[string]int), released: make(map[seen]string), locked: make(map[seen]string), untried: make(map[seen]asking), pretended: make(map[sandbox.Ref]string),
	}
}

// asking is what the oracle remembers of one thing over all runs.
type asking struct {
	times   int
	last    time.Time
	jumps   int
	by      string // the run that asked
	settled bool   // it saved the outcome
}

func (w *world) harm(invariant int, format string, args ...any) {
	w.damage = append(w.damage, fmt.Sprintf("invariant %d: ", invariant)+fmt.Sprintf(format, args...))
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, w.now.Format("02 15:04:05 ")+fmt.Sprintf(format, args...))
}

// The witnesses of a look.

func (v *view) witnessList(s *site) {
	if _, again := v.clocks[s.name]; !again {
		v.clocks[s.name], v.looked[s.name] = v.now.Add(v.skew), v.now
		v.empty[s.name], v.strangers[s.name] = s.signedOut, s.stranger
		v.listed[s.name] = make(map[sandbox.Ref]sandbox.Sandbox)
	}
	v.used[s.name] = make(map[string]bool)
	for _, b := range s.boxes {
		for _, path := range b.Workspaces {
			v.used[s.name][path] = true
		}
	}
}

func (v *view) witnessEnd(s *site, kind string, err error) {
	v.ended[s.name+kind]++
	if err != nil && v.ended[s.name+kind] == 1 {
		v.partial[s.name] = true
	}
}

func (v *view) witnessLeft(s *site, left []sandbox.Leftover, arrived bool) {
	if !arrived {
		return
	}
	v.left[s.name] = make(map[sandbox.Ref]bool)
	for _, l := range left {
		v.left[s.name][l.Ref] = true
		key := verdict.Key{Ref: l.Ref, Leftover: true}
		v.reads[seen{s.name, key}] = witness{keeps: v.keepsLeft(s, l, v.now), kept: v.keptLeft(s, l, key)}
	}
	if v.size[s.name] == 0 {
		v.size[s.name] = len(v.listed[s.name]) + len(left)
	}
}

func (v *view) witnessBox(s *site, b *box) witness {
	last := v.known.Scopes["sim:"+s.name].LastLook
	return witness{box: b.reply(false), keeps: v.keepsBox(s, b, v.now.Add(s.error())), kept: v.keepsBox(s, b, last.Add(s.error()))}
}

// keptLeft says why a leftover had to stand at the last look.
func (v *view) keptLeft(s *site, l sandbox.Leftover, key verdict.Key) string {
	known := v.known.Scopes["sim:"+s.name]
	if mark, marked := known.Marks[key]; !marked || known.LastLook.Before(mark.First.Add(simOrphan)) {
		return "it was not known for long"
	}
	return v.keepsLeft(s, l, known.LastLook)
}

// checkAsk watches one destroy or removal as it happens.
func (v *view) checkAsk(s *site, key verdict.Key) {
	id := seen{s.name, key}
	v.note("%s asks %s#%s to go", v.name, s.name, key.Handle)
	finished := v.finished(s, key)
	switch read, ok := v.reads[id]; {
	case !ok:
		v.harm(2, "%s#%s is asked without a fresh read", s.name, key.Handle)
	case never(read.keeps):
		v.harm(5, "%s#%s is asked although %s", s.name, key.Handle, read.keeps)
	case finished == "" && read.keeps != "":
		v.checkFinished(s, id)
	case finished == "Terraform manages it" && read.keeps == "it is not past its end":
		v.harm(5, "%s#%s is asked although %s", s.name, key.Handle, finished)
	case finished == "it is not known to be of that Airflow" && read.keeps == "it is not past its end":
		v.harm(5, "%s#%s is asked although %s", s.name, key.Handle, finished)
	case read.keeps == "it is held" || read.keeps == "" && finished != "" && v.metHolder(s, id, read.box):
		v.harm(18, "%s#%s is asked although a look met its holder a moment ago", s.name, key.Handle)
	case read.keeps != "":
		v.harm(1, "%s#%s is asked although %s, and %s", s.name, key.Handle, read.keeps, finished)
	}
	mark := v.store.Scopes["sim:"+s.name].Marks[key]
	if mark.Asked.IsZero() {
		v.harm(2, "%s#%s is asked without a saved intent", s.name, key.Handle)
	}
	v.checkTime(s, key)
	if v.released[id] == "" { // else it is the same attempt
		v.checkAttempt(id)
	}
	if key.Leftover {
		v.checkShare(s)
	}
}

// checkFinished watches what goes on Airflow's word alone. A task of its run that
// has attached since Airflow was asked must have been seen, or kept out.
func (v *view) checkFinished(s *site, id seen) {
	b := s.boxes[id.Ref]
	d := v.of(b)
	for _, task := range d.names() {
		if d.at[task] == b && task.Owner() == b.Tags[airflow.TagOwner] {
			v.harm(20, "%s#%s is asked although %s has attached to it", s.name, id.Handle, task.Holder())
		}
	}
	if v.released[id] == "" {
		v.checkShare(s)
	}
}

// finished says why a sandbox would stand if only its Airflow were asked.
func (v *view) finished(s *site, key verdict.Key) string {
	return v.finishedAt(s, key, v.heard.at.Add(airflowError))
}

func (v *view) finishedAt(s *site, key verdict.Key, at time.Time) string {
	b := s.boxes[key.Ref]
	if key.Leftover || b == nil {
		return "nobody can be asked"
	}
	id := seen{s.name, key}
	told := &box{Sandbox: v.reads[id].box, staging: b.staging, robbed: b.robbed}
	if holder := told.Tags[airflow.TagHolder]; holder != "" && holder == v.locked[id] {
		told.Tags = told.Tags.Clone()
		delete(told.Tags, airflow.TagHolder)
	}
	return v.heard.keepsOwned(s, told, at)
}

// checkAttempt watches who attempts something, and how often.
func (v *view) checkAttempt(id seen) {
	v.asks++
	if v.store.Run.Process != v.name {
		v.harm(14, "%s asks while %q holds the document", v.name, v.store.Run.Process)
	}
	if v.asks > simCap {
		v.harm(8, "%d attempts in one run", v.asks)
	}
	v.checkPatience(id)
	for _, other := range v.views {
		if other != v && !other.killed && !other.over && other.asks > 0 {
			v.harm(14, "%s and %s both ask", v.name, other.name)
		}
	}
}

// checkShare watches how many go, or are let go, without a date of their own.
func (v *view) checkShare(s *site) {
	v.removals[s.name]++
	if size := max(v.size[s.name], v.yielded[s.name]); size >= 8 && float64(v.removals[s.name]) > simShare*float64(size) {
		v.harm(17, "%d of %d go without a date of their own", v.removals[s.name], size)
	}
}

// checkTime watches that a look at which time itself is in doubt only marks.
func (v *view) checkTime(s *site, key verdict.Key) {
	const tolerance = 15 * time.Minute // a listing takes its time
	last, now := v.known.Scopes["sim:"+s.name].LastLook, v.clocks[s.name]
	switch {
	case last.IsZero() && (key.Leftover || v.reads[seen{s.name, key}].keeps != ""):
		v.harm(7, "%s#%s goes at the first look", s.name, key.Handle)
	case last.IsZero() || v.jumps != v.world.jumps:
	case now.Before(last.Add(-tolerance)):
		v.harm(7, "%s#%s goes after the clock went back", s.name, key.Handle)
	case now.Sub(last) > simLongGap+tolerance && v.reads[seen{s.name, key}].kept != "" && v.finishedAt(s, key, last.Add(airflowError)) != "":
		v.harm(7, "%s#%s goes after a long gap, and at the last look %s", s.name, key.Handle, v.reads[seen{s.name, key}].kept)
	}
}

// checkPatience watches the limit of attempts, and back-off. Where no outcome was
// saved, it is that of one attempt less.
func (v *view) checkPatience(id seen) {
	a := v.askings[id]
	a.times++
	if a.times > verdict.MaxAttempts {
		v.harm(9, "%s#%s is asked %d times", id.place, id.Handle, a.times)
	}
	due := a.times
	if !a.settled {
		due--
	}
	wait := time.Duration(0)
	if due > 1 {
		wait = 9 * time.Minute << (due - 2)
	}
	if a.jumps == v.world.jumps && v.now.Sub(a.last) < wait {
		v.harm(9, "%s#%s is asked again after %s, not %s", id.place, id.Handle, v.now.Sub(a.last), wait)
	}
	a.last, a.jumps, a.by, a.settled = v.now, v.world.jumps, v.name, false
	v.askings[id] = a
}

// checkResult watches what a run says.
func (v *view) checkResult() {
	if v.killed || v.err != nil {
		return
	}
	v.exits[v.result.Exit]++
	for i, c := range v.result.Connections {
		s := v.places[i]
		for _, a := range c.Actions {
			v.results[a.Result]++
			id := seen{s.name, a.Key}
			if before, released := v.untried[id]; released && (a.Result == Spared || a.Result == Postponed) { // it was not an attempt
				v.askings[id] = before
			}
			if a.Result != Reclaimed {
				continue
			}
			v.note("%s says %s#%s is reclaimed", v.name, s.name, a.Handle)
			if there := v.left[s.name][a.Ref]; a.Leftover && there || !a.Leftover && !v.gone[id] {
				v.harm(11, "%s#%s is said to be reclaimed without a read that found nothing", s.name, a.Handle)
			}
			if v.said[id] {
				v.harm(11, "%s#%s is said to be reclaimed twice", s.name, a.Handle)
			}
			v.said[id] = true
		}
		if v.result.Exit == ExitClean && (v.partial[s.name] || !c.Look.Complete) {
			v.harm(16, "exit 0, and %s was not looked at completely", s.name)
		}
	}
}

// checkCalm watches, after a time without faults, that every dead thing is gone
// or named.
func (w *world) checkCalm(last *view) {
	for i, s := range w.places {
		named := make(map[verdict.Key]verdict.Outcome)
		c := last.result.Connections[i]
		shared := false // the share breaker may stand in the way
		for _, v := range c.Verdicts {
			named[v.Key] = v.Outcome
			shared = shared || v.Outcome == verdict.Condemned && !v.Dated && len(c.Refused) > 0
		}
		for ref, b := range s.boxes {
			if w.keepsBox(s, b, w.now.Add(-time.Hour)) != "" {
				continue
			}
			switch outcome := named[verdict.Key{Ref: ref}]; {
			case outcome == verdict.Quarantined || outcome == verdict.BackingOff:
			case outcome == verdict.Condemned && shared:
			case !b.goneAt.IsZero():
			default:
				w.harm(13, "%s#%s is dead, and still there as %s (refused: %q)", s.name, ref.Handle, outcome, c.Refused)
			}
		}
		w.checkCalmClaims(s, named, shared)
		for ref, l := range s.left {
			quiet := l.Problem == "" && !l.InUse && w.now.Sub(l.ChangedAt) > 2*simOrphan+time.Hour
			for _, b := range s.boxes {
				for _, path := range b.Workspaces {
					quiet = quiet && path != l.Path
				}
			}
			outcome := named[verdict.Key{Ref: ref, Leftover: true}]
			if quiet && outcome != verdict.Quarantined && outcome != verdict.BackingOff && len(c.Refused) == 0 {
				w.harm(13, "%s#%s is left over, and still there as %s", s.name, ref.Handle, outcome)
			}
		}
	}
}
