// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// airflowError is the most by which a janitor may misjudge a date of Airflow's.
const airflowError = simExpired/2 + 2*time.Second

// SetTags replaces what is there, whoever wrote it since it was read.
func (b *simBackend) SetTags(ctx context.Context, ref sandbox.Ref, tags sandbox.Tags) error {
	return b.do(ctx, DefaultCallTimeout/2, func() error {
		found := b.s.boxes[ref]
		if found == nil || b.s.stranger || b.s.signedOut {
			return backend.ErrNotFound
		}
		b.v.write(b.s, found, b.v.reads[seen{b.s.name, verdict.Key{Ref: ref}}].box.Tags, tags)
		return nil
	})
}

// EditTags edits in one step that no other writer comes between.
func (b hostBackend) EditTags(ctx context.Context, ref sandbox.Ref, edit func(sandbox.Tags)) error {
	return b.do(ctx, DefaultCallTimeout/2, func() error {
		found := b.s.boxes[ref]
		switch {
		case found == nil:
			return backend.ErrNotFound
		case found.Problem != "" || found.untold:
			return backend.ErrInvalid
		}
		tags := found.Tags.Clone()
		edit(tags)
		b.v.write(b.s, found, found.Tags, tags)
		return nil
	})
}

// write is what a whole set that is written in place of the one that was read
// does to a sandbox.
func (v *view) write(s *site, b *box, read, written sandbox.Tags) {
	key := verdict.Key{Ref: b.Ref}
	id := seen{s.name, key}
	old, holder := read[airflow.TagHolder], written[airflow.TagHolder]
	current := b.Tags[airflow.TagHolder]
	for _, key := range slices.Concat(keys(read), keys(written)) {
		was, is := read[key], written[key]
		marks := was == "" && sandbox.IsClaim(holder) || is == "" && v.locked[id] != ""
		if was != is && key != airflow.TagHolder && (key != sandbox.TagTeardownAt || !marks) {
			v.harm(15, "%s#%s: its tag %s is changed from %q to %q", s.name, b.Handle, key, was, is)
		}
	}
	switch {
	case old == holder: // only the teardown mark
	case sandbox.IsClaim(holder) && old == "":
		v.note("%s takes %s#%s from Airflow", v.name, s.name, b.Handle)
		v.locked[id] = holder
	case sandbox.IsClaim(old) && old == v.locked[id] && holder == "":
		v.note("%s gives %s#%s back to Airflow", v.name, s.name, b.Handle)
	case holder == "":
		v.checkRelease(s, b, old)
		v.released[id] = old
		if task, ok := airflow.ParseHolder(old); ok && current == old && v.of(b).at[task] == b {
			v.note("%s takes the claim of %s off, which lives", v.name, old)
			b.robbed[old] = true
		}
	case old != "":
		v.harm(15, "%s#%s: the claim of %s takes the place of that of %s", s.name, b.Handle, holder, old)
	default:
		mark := v.store.Scopes["sim:"+s.name].Marks[key]
		if mark.Claim.Holder != holder && v.released[id] != holder {
			v.harm(15, "%s#%s: the claim of %s is put back, and nobody took it off", s.name, b.Handle, holder)
		}
		v.note("%s puts the claim of %s back", v.name, holder)
		if v.cfg.noRestore {
			v.pretended[b.Ref] = holder
			return
		}
		delete(b.robbed, holder)
	}
	b.Tags = written.Clone()
}

func keys(tags sandbox.Tags) []string { return slices.Sorted(maps.Keys(tags)) }

// checkRelease watches one claim as it is taken off.
func (v *view) checkRelease(s *site, b *box, holder string) {
	key := verdict.Key{Ref: b.Ref}
	id := seen{s.name, key}
	v.note("%s releases the claim of %s on %s#%s", v.name, holder, s.name, b.Handle)
	read := v.reads[id]
	told := &box{Sandbox: read.box, staging: b.staging}
	told.Tags = read.box.Tags.Clone()
	told.Tags[airflow.TagHolder] = holder
	known := v.known.Scopes["sim:"+s.name]
	why := v.heard.keepsClaim(s, told, simStale, v.heard.at.Add(airflowError))
	switch {
	case never(read.keeps):
		v.harm(5, "%s#%s: its claim is released although %s", s.name, b.Handle, read.keeps)
	case why == "it is not known to be of that Airflow":
		v.harm(5, "%s#%s: its claim is released although %s", s.name, b.Handle, why)
	case why != "":
		v.harm(15, "%s#%s: its claim is released although %s", s.name, b.Handle, why)
	case known.LastLook.IsZero():
		v.harm(7, "%s#%s: its claim is released at the first look", s.name, b.Handle)
	case v.clocks[s.name].Sub(known.LastLook) > simLongGap+15*time.Minute && v.jumps == v.world.jumps &&
		v.heard.keepsClaim(s, told, simStale, known.LastLook.Add(airflowError)) != "":
		v.harm(7, "%s#%s: its claim is released after a long gap", s.name, b.Handle)
	}
	mark := v.store.Scopes["sim:"+s.name].Marks[key]
	if mark.Taken.IsZero() || mark.Claim.Holder != holder {
		v.harm(2, "%s#%s: its claim is released without a saved intent", s.name, b.Handle)
	}
	v.untried[id] = v.askings[id]
	v.checkAttempt(id)
	v.checkShare(s)
}

// never reports whether something must stand whatever anybody says.
func never(keeps string) bool {
	return keeps == "it is protected" || keeps == "it is foreign" || keeps == "it cannot be read" || keeps == "it is too young"
}

// checkRobbed watches, when a run has ended, that no living task is without its
// claim, unless the next run is to see to it.
func (w *world) checkRobbed() {
	for _, s := range w.places {
		for _, ref := range refs(s.boxes) {
			mark := w.store.Scopes["sim:"+s.name].Marks[verdict.Key{Ref: ref}]
			if b := s.boxes[ref]; len(b.robbed) > 0 && mark.Taken.IsZero() {
				w.harm(15, "%s#%s: a living task is left without its claim: %v", s.name, ref.Handle, b.robbed)
			}
		}
	}
}

// forgive gives up what nobody can know any more: whose claim was being taken off
// when the document was lost.
func (w *world) forgive() {
	for _, s := range w.places {
		for _, b := range s.boxes {
			clear(b.robbed)
		}
	}
}

// written reports whether this run has taken that holder's claim off something.
func (v *view) written(holder string) bool {
	for _, released := range v.released {
		if released == holder {
			return true
		}
	}
	return false
}

// checkCalmClaims watches, after a time without faults, that no claim is left whose
// task is over, and no sandbox whose run is.
func (w *world) checkCalmClaims(s *site, named map[verdict.Key]verdict.Outcome, shared bool) {
	truth, long := w.witnessAirflow(), w.now.Add(-time.Hour)
	for _, ref := range refs(s.boxes) {
		b, key := s.boxes[ref], verdict.Key{Ref: ref}
		outcome := named[key]
		known := outcome == verdict.Quarantined || outcome == verdict.BackingOff || outcome == verdict.Condemned && shared ||
			!w.store.Scopes["sim:"+s.name].Marks[key].Taken.IsZero()
		if keeps := w.keepsBox(s, b, long); known || keeps == "" || never(keeps) || b.CreatedAt.IsZero() {
			continue
		}
		task, _ := airflow.ParseHolder(b.Tags[airflow.TagHolder])
		run, _ := airflow.ParseOwner(b.Tags[airflow.TagOwner])
		if w.prod.visible(task.DagRun) && w.prod.tasks[task].EndedAt.After(b.CreatedAt) && truth.keepsClaim(s, b, simStale, long) == "" {
			w.harm(13, "%s#%s is held by a task that is over, and is %s", s.name, ref.Handle, outcome)
		}
		if w.prod.visible(run) && w.prod.runs[run].EndedAt.After(b.CreatedAt) && b.Tags[airflow.TagHolder] == "" && truth.keepsOwned(s, b, long) == "" {
			w.harm(13, "%s#%s is of a run that is over, and is %s", s.name, ref.Handle, outcome)
		}
	}
}

// visible reports whether the janitor's account can read a run.
func (d *deployed) visible(run airflow.DagRun) bool { return !d.purged[run] && !d.hidden[run] }
