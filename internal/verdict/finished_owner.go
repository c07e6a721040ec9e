// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"cmp"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
)

// finishedOwner holds for a sandbox whose Dag run is over, in the deployment that
// it is known to be made for, while no task that may still live holds it. An
// owner that is no run's name, such as Terraform's, is never judged by runs.
var finishedOwner = Rule{
	Reason: "finished_owner",
	Needs:  Clock | Airflow,
	Mode:   Report,
	Grace:  30 * time.Minute,
	Judge:  judgeFinishedOwner,
}

func judgeFinishedOwner(s Subject, facts *Facts) Finding {
	if s.Sandbox == nil {
		return Finding{}
	}
	box := s.Sandbox
	owner := box.Tags[airflow.TagOwner]
	run, ok := airflow.ParseOwner(owner)
	switch {
	case owner == "":
		return Finding{}
	case !ok:
		return Finding{Evidence: []Evidence{{"owner", owner, "no Dag run has such a name"}}}
	}
	task, doubt := holderOf(box)
	holder := airflow.Holder(box.Tags)
	if holder != "" && task == nil {
		return Finding{Doubt: doubt}
	}
	deployment, stranger := facts.Airflow.speaksFor(box)
	if stranger != "" {
		return Finding{Doubt: stranger}
	}
	evidence := []Evidence{deployment, {"holder", cmp.Or(holder, "none"), "tag " + airflow.TagHolder}}
	words := []word{facts.Airflow.ofRun(run)}
	if task != nil {
		words = append(words, facts.Airflow.ofTask(*task))
	}
	finding := over(box, evidence, words...)
	if task != nil {
		finding.claimedBy(*task, facts)
	}
	return finding
}
