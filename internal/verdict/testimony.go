// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package verdict

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Deployment is the Airflow deployment that is believed at a connection. Runs and
// tasks of two deployments may have equal names, so it is believed only about
// what is known to be its own.
type Deployment struct {
	Name      string // of the configuration; empty: none is believed here
	Marker    string // the value of sandbox.TagDeployment that makes a sandbox its own
	Exclusive bool   // what bears no such tag is its own, too
}

// Testimony is what that deployment says.
type Testimony struct {
	Deployment
	airflow.Answers

	Doubt string // why nothing that it says, or would say, is believed; empty: it is
}

// speaksFor shows that a sandbox is the deployment's own, or says why it is not.
func (d Deployment) speaksFor(box *sandbox.Sandbox) (shown Evidence, stranger string) {
	marker, marked := box.Tags[sandbox.TagDeployment]
	switch {
	case d.Name == "":
		return Evidence{}, "no Airflow is named for this connection"
	case marked && d.Marker != "" && marker != d.Marker:
		return Evidence{}, fmt.Sprintf("the tag %s is %q, and Airflow %s is %q", sandbox.TagDeployment, marker, d.Name, d.Marker)
	case d.Exclusive:
		return Evidence{"deployment", d.Name, "exclusive"}, ""
	case !marked || marker == "":
		return Evidence{}, fmt.Sprintf("it has no tag %s, so Airflow %s is not believed about it", sandbox.TagDeployment, d.Name)
	}
	return Evidence{"deployment", marker, "tag " + sandbox.TagDeployment}, ""
}

// word is what Airflow says of a run or a task.
type word struct {
	over    bool      // it has ended
	endedAt time.Time // zero: Airflow does not say
	dated   bool      // by a clock that is known
	shown   Evidence
	strange string // what is unusual about a word that is taken for life
	doubt   string // why it is not known whether it is over; empty: it is known

	asks airflow.Questions // what must be asked first
}

// ofRun is what is said of a run.
func (t *Testimony) ofRun(run airflow.DagRun) word {
	answer, told := t.Runs[run]
	w := t.word("run", told, answer.State, answer.EndedAt, answer.Doubt)
	if !told && t.Doubt == "" {
		w.asks.Runs = append(w.asks.Runs, run)
	}
	return w
}

// ofTask is what is said of a task.
func (t *Testimony) ofTask(task airflow.TaskInstance) word {
	answer, told := t.Tasks[task]
	w := t.word("task", told, answer.State, answer.EndedAt, answer.Doubt)
	if !told && t.Doubt == "" {
		w.asks.Tasks = append(w.asks.Tasks, task)
	}
	return w
}

// state is airflow.RunState or airflow.TaskState.
type state interface {
	Known() bool
	Terminal() bool
}

func (t *Testimony) word(what string, told bool, state state, endedAt time.Time, doubt string) word {
	switch {
	case t.Doubt != "":
		return word{doubt: t.Doubt}
	case !told:
		return word{doubt: fmt.Sprintf("Airflow %s was not asked about its %s", t.Name, what)}
	case doubt != "":
		return word{doubt: fmt.Sprintf("Airflow %s cannot tell of its %s: %s", t.Name, what, doubt)}
	}
	w := word{over: state.Terminal(), endedAt: endedAt, dated: !endedAt.IsZero() && t.ClockKnown}
	value := cmp.Or(fmt.Sprint(state), "not scheduled")
	switch {
	case !state.Known():
		w.strange = fmt.Sprintf("the state %q of its %s is not known to this janitor, and taken for alive", state, what)
	case w.over && !endedAt.IsZero():
		value += " " + stamp(endedAt)
	}
	w.shown = Evidence{what, value, "Airflow " + t.Name}
	return w
}

// ended is when it ended, in Airflow's own precision; empty: Airflow does not say.
func (w word) ended() string {
	if w.endedAt.IsZero() {
		return ""
	}
	return w.endedAt.UTC().Format(time.RFC3339Nano)
}

// unclear says why a word that is no sign of life is no proof of an end either;
// empty: it is one. What ended before the sandbox was made was never in it.
func (w word) unclear(box *sandbox.Sandbox) string {
	switch {
	case w.doubt != "":
		return w.doubt
	case box.CreatedAt.IsZero():
		return "the backend does not say when it was created, so what Airflow says cannot be checked"
	case !w.endedAt.IsZero() && w.endedAt.Before(box.CreatedAt.Add(-clockTolerance)):
		return fmt.Sprintf("its %s is %s, before its creation %s", w.shown.Fact, w.shown.Value, stamp(box.CreatedAt))
	}
	return ""
}

// over is the finding for what is dead once all that the words are of is over:
// since the last of them is and, where one has no date that can be believed, not
// before our mark is old enough too.
func over(box *sandbox.Sandbox, evidence []Evidence, words ...word) Finding {
	finding := Finding{Holds: Yes, Looks: OneLook, Undated: true}
	for _, w := range words {
		if w.doubt == "" {
			evidence = append(evidence, w.shown)
		}
		if w.doubt == "" && !w.over {
			return Finding{Evidence: evidence, Doubt: w.strange}
		}
		finding.asks.Runs = append(finding.asks.Runs, w.asks.Runs...)
		finding.asks.Tasks = append(finding.asks.Tasks, w.asks.Tasks...)
		if why := w.unclear(box); why != "" {
			finding.Holds, finding.Doubt = Unknown, cmp.Or(finding.Doubt, why)
		}
		finding.Claim.Ended = strings.TrimSpace(finding.Claim.Ended + " " + w.ended())
		if !w.dated {
			finding.Looks = AllGraceLooks
		}
		finding.Since = later(finding.Since, w.endedAt)
	}
	finding.Evidence = evidence
	if finding.Holds != Yes {
		finding.Claim = Claim{}
	}
	return finding
}

// Questions are what an Airflow deployment must be asked before the subjects of
// the facts can be judged, each once and in order.
func Questions(facts *Facts, policy Policy) airflow.Questions {
	var all airflow.Questions
	for _, s := range facts.Subjects {
		if _, settled := settle(s, facts, policy); settled {
			continue
		}
		for _, rule := range rules {
			if rule.Needs&Airflow == 0 {
				continue
			}
			finding, _ := rule.ask(s, facts)
			all.Runs = append(all.Runs, finding.asks.Runs...)
			all.Tasks = append(all.Tasks, finding.asks.Tasks...)
		}
	}
	return all.And(airflow.Questions{})
}
