// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"fmt"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// staleHolder holds for a claim whose task is over, in the deployment that the
// sandbox is known to be made for: a task that was killed leaves it behind, and
// so does one that succeeded while the vendor refused its tags. Only the claim is
// released, so that the next task can attach; therefore it may do so on
// sandboxes that Terraform manages. A task that will be tried again is alive: it
// comes back under the same name and expects its files.
var staleHolder = Rule{
	Reason:  "stale_holder",
	Needs:   Clock | Airflow,
	Mode:    Report,
	Grace:   15 * time.Minute,
	Act:     Release,
	Managed: true,
	Judge:   judgeStaleHolder,
}

func judgeStaleHolder(s Subject, facts *Facts) Finding {
	if s.Sandbox == nil {
		return Finding{}
	}
	box := s.Sandbox
	task, doubt := holderOf(box)
	if task == nil {
		return Finding{Doubt: doubt}
	}
	holder := Evidence{"holder", task.Holder(), "tag " + airflow.TagHolder}
	deployment, stranger := facts.Airflow.speaksFor(box)
	if stranger != "" {
		return Finding{Evidence: []Evidence{holder}, Doubt: stranger}
	}
	finding := over(box, []Evidence{deployment, holder}, facts.Airflow.ofTask(*task))
	finding.claimedBy(*task, facts)
	return finding
}

// claimedBy names the task, and its try, whose claim is to go.
func (f *Finding) claimedBy(task airflow.TaskInstance, facts *Facts) {
	if f.Holds == Yes {
		f.Claim.Holder, f.Claim.Try = task.Holder(), facts.Airflow.Tasks[task].Try
	}
}

// holderOf returns the task that holds the sandbox. Nil without a doubt: it is
// free, or claimed by a destroy. Nil with one: it is held, and
// nobody can be asked by whom.
func holderOf(box *sandbox.Sandbox) (task *airflow.TaskInstance, doubt string) {
	holder := airflow.Holder(box.Tags)
	if holder == "" || !held(box) {
		return nil, ""
	}
	instance, ok := airflow.ParseHolder(holder)
	if !ok {
		return nil, fmt.Sprintf("it is held by %q, which is no task of Airflow's", holder)
	}
	return &instance, ""
}
