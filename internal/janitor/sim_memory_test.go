// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// What must be remembered from run to run, and what a run may forget.

// checkSave watches what is forgotten.
func (v *view) checkSave(after Document) {
	v.checkMet()
	for _, s := range v.places {
		scope := "sim:" + s.name
		before, now := v.known.Scopes[scope], after.Scopes[scope]
		complete := !now.LastComplete.Equal(before.LastComplete)
		if complete && v.partial[s.name] {
			v.harm(6, "the look at %s was not complete, and is remembered as such", s.name)
		}
		for key, mark := range before.Marks {
			id := seen{s.name, key}
			settled := v.released[id] != "" || !mark.Taken.IsZero() // a release, now or earlier
			if _, kept := now.Marks[key]; kept || v.gone[id] || !mark.Gone.IsZero() || settled {
				continue
			}
			_, listed := v.listed[s.name][key.Ref]
			switch {
			case !complete:
				v.harm(6, "%s#%s is forgotten after a look that was not complete", s.name, key.Handle)
			case v.strangers[s.name]:
				v.harm(6, "%s#%s is forgotten because another account answered", s.name, key.Handle)
			case v.empty[s.name] && before.LastCount > 0:
				v.harm(6, "%s#%s is forgotten because nothing was listed", s.name, key.Handle)
			case !mark.Asked.IsZero() && !listed && !key.Leftover:
				v.harm(6, "%s#%s was asked, and is forgotten without a read by id", s.name, key.Handle)
			}
			delete(v.askings, id)
		}
		for id, a := range v.askings {
			if id.place != s.name {
				continue
			}
			if _, kept := now.Marks[id.Key]; !kept {
				delete(v.askings, id)
				continue
			}
			a.settled = a.settled || a.by == v.name && after.Run.ID == ""
			v.askings[id] = a
		}
	}
}

// metHolder reports whether something goes because it is retired although,
// within the grace, a look met a holder.
func (v *view) metHolder(s *site, id seen, told sandbox.Sandbox) bool {
	met, ever := v.met[id]
	told.Tags = told.Tags.Clone()
	delete(told.Tags, sandbox.TagRetiredAt)
	retired := v.keepsBox(s, &box{Sandbox: told}, v.now.Add(s.error())) != ""
	return retired && ever && v.now.Add(2*s.error()).Before(met.Add(simRetired))
}

// checkMet remembers which holders a look met.
func (v *view) checkMet() {
	for _, s := range v.places {
		for ref, told := range v.listed[s.name] {
			if _, held := told.Tags[airflow.TagHolder]; held {
				v.met[seen{s.name, verdict.Key{Ref: ref}}] = v.looked[s.name]
			}
		}
	}
	for id, read := range v.reads {
		if holder, held := read.box.Tags[airflow.TagHolder]; held && holder != v.locked[id] {
			v.met[id] = v.looked[id.place]
		}
	}
}
