// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// deployed is one Airflow of a world. Two of them have runs and tasks of the same
// names, and know nothing of each other.
type deployed struct {
	name  string
	runs  map[airflow.DagRun]airflow.RunAnswer // by true time
	tasks map[airflow.TaskInstance]airflow.TaskAnswer
	at    map[airflow.TaskInstance]*box // where a living task is attached

	skew     time.Duration // of its clock
	timeless bool          // its replies bear no date
	down     bool
	purged   map[airflow.DagRun]bool // its rows are deleted
	hidden   map[airflow.DagRun]bool // the janitor's account may not read it
}

const (
	simStale    = 15 * time.Minute
	simFinished = 30 * time.Minute
)

func newDeployed(name string) *deployed {
	d := &deployed{
		name: name, runs: make(map[airflow.DagRun]airflow.RunAnswer), tasks: make(map[airflow.TaskInstance]airflow.TaskAnswer),
		at: make(map[airflow.TaskInstance]*box), purged: make(map[airflow.DagRun]bool), hidden: make(map[airflow.DagRun]bool),
	}
	for _, id := range []string{"r1", "r2", "r3"} {
		run := airflow.DagRun{DagID: "etl", RunID: id}
		d.runs[run] = airflow.RunAnswer{State: "running"}
		for _, task := range []airflow.TaskInstance{{TaskID: "a", MapIndex: -1}, {TaskID: "b", MapIndex: -1}, {TaskID: "map", MapIndex: 0}, {TaskID: "map", MapIndex: 1}} {
			task.DagRun = run
			d.tasks[task] = airflow.TaskAnswer{}
		}
	}
	return d
}

// names returns the tasks in order, so that the same seed is the same run.
func (d *deployed) names() []airflow.TaskInstance {
	return slices.SortedFunc(maps.Keys(d.tasks), airflow.TaskInstance.Compare)
}

// of is the deployment whose tasks use a sandbox, whatever its tags say.
func (w *world) of(b *box) *deployed {
	if b.staging {
		return w.staging
	}
	return w.prod
}

// airflowEvent lets something happen in an Airflow.
func (w *world) airflowEvent() {
	d := w.prod
	if w.chance(0.2) {
		d = w.staging
	}
	names := d.names()
	task := names[w.IntN(len(names))]
	switch w.IntN(12) {
	case 0:
		w.prod.down = w.chance(0.15)
	case 1:
		d.purged[task.DagRun] = d.runs[task.DagRun].State.Terminal() && w.chance(0.5)
	case 2:
		d.hidden[task.DagRun] = w.chance(0.15)
	case 3:
		d.timeless = w.chance(0.3)
	case 4:
		if d.skew = w.upTo(2*time.Minute) - time.Minute; w.chance(0.1) {
			d.skew = w.upTo(48*time.Hour) - 24*time.Hour
		}
	case 5, 6, 7:
		w.endRun(d, task.DagRun)
	default:
		if d.at[task] != nil || d.tasks[task].State == "running" {
			w.endTask(d, task)
		} else {
			w.startTask(d, task)
		}
	}
}

// attachment lets a task come to a sandbox, or go from it.
func (w *world) attachment(b *box) {
	d := w.of(b)
	task, held := airflow.ParseHolder(b.Tags[airflow.TagHolder])
	if _, known := d.tasks[task]; held && known && d.at[task] == b {
		w.endTask(d, task)
		return
	} else if !known {
		names := d.names()
		task = names[w.IntN(len(names))]
	}
	if d.at[task] == nil {
		w.startTask(d, task)
		w.attach(d, task, b)
	}
}

// abandon lets a task come to a sandbox and be killed there, for good.
func (w *world) abandon(b *box) {
	d := w.of(b)
	names := d.names()
	task := names[w.IntN(len(names))]
	if d.at[task] != nil {
		return
	}
	w.startTask(d, task)
	if w.attach(d, task, b); d.at[task] == b {
		d.tasks[task] = airflow.TaskAnswer{State: "failed", Try: d.tasks[task].Try, EndedAt: w.now}
		delete(d.at, task)
	}
}

// startTask begins the next try of a task: the first one, a retry, or one after
// it was cleared.
func (w *world) startTask(d *deployed, task airflow.TaskInstance) {
	d.tasks[task] = airflow.TaskAnswer{State: "running", Try: d.tasks[task].Try + 1}
	d.runs[task.DagRun] = airflow.RunAnswer{State: "running"}
	d.purged[task.DagRun] = false
}

// attach is what Airflow's toolset does: a claim under the task's own name is
// taken without a write, another's is respected.
func (w *world) attach(d *deployed, task airflow.TaskInstance, b *box) {
	switch b.Tags[airflow.TagHolder] {
	case task.Holder():
	case "":
		b.Tags[airflow.TagHolder] = task.Holder()
	default:
		w.endTask(d, task)
		return
	}
	d.at[task] = b
	w.note("%s of %s attaches to %s", task.Holder(), d.name, b.Handle)
}

// endTask ends a try in one way or another, and leaves the claim behind where it
// was killed.
func (w *world) endTask(d *deployed, task airflow.TaskInstance) {
	answer := d.tasks[task]
	answer.State = []airflow.TaskState{"success", "failed", "failed", "up_for_retry", "deferred", ""}[w.IntN(6)]
	if answer.State.Terminal() && w.chance(0.95) {
		answer.EndedAt = w.now
	}
	d.tasks[task] = answer
	b := d.at[task]
	delete(d.at, task)
	if b == nil {
		return
	}
	delete(b.robbed, task.Holder())
	if w.chance(0.4) && b.Tags[airflow.TagHolder] == task.Holder() {
		delete(b.Tags, airflow.TagHolder)
	}
	w.note("%s of %s is %q", task.Holder(), d.name, answer.State)
}

// endRun ends a run, and with it whatever of its tasks still waits.
func (w *world) endRun(d *deployed, run airflow.DagRun) {
	for _, task := range d.names() {
		if task.DagRun != run || d.tasks[task].State.Terminal() {
			continue
		}
		if w.endTask(d, task); !d.tasks[task].State.Terminal() {
			d.tasks[task] = airflow.TaskAnswer{State: "failed", Try: d.tasks[task].Try, EndedAt: w.now}
		}
	}
	if !d.runs[run].State.Terminal() {
		d.runs[run] = airflow.RunAnswer{State: []airflow.RunState{"success", "failed"}[w.IntN(2)], EndedAt: w.now}
	}
}

// simAirflow is the one Airflow that the janitors may ask, in one view.
type simAirflow struct {
	v           *view
	first, last airflow.Answers // what was answered, with the rails on
}

func (a *simAirflow) Ask(ctx context.Context, asked airflow.Questions) (answers airflow.Answers, err error) {
	err = a.v.call(ctx, DefaultCallTimeout/2, func() error {
		d := a.v.prod
		if d.down && !a.v.calm {
			return errors.New("502 Bad Gateway")
		}
		a.v.heard = a.v.witnessAirflow()
		answers = d.answer(asked, a.v.skew)
		if a.v.cfg.sameClock {
			answers.Ahead, answers.ClockKnown = 0, true
		}
		return nil
	})
	if err != nil {
		return airflow.Answers{}, err
	}
	a.v.questions++
	written := len(asked.Tasks) > 0 && a.v.written(asked.Tasks[0].Holder())
	switch {
	case a.v.cfg.staleAsk && !written && a.v.questions > 1:
		return a.first, nil
	case a.v.cfg.staleCheck && written:
		return a.last, nil
	case a.v.questions == 1:
		a.first = answers
	}
	a.last = answers
	return answers, nil
}

// answer is what its API says, by its clock, to one whose clock is off by skew.
func (d *deployed) answer(asked airflow.Questions, skew time.Duration) airflow.Answers {
	answers := airflow.Answers{
		Runs: make(map[airflow.DagRun]airflow.RunAnswer), Tasks: make(map[airflow.TaskInstance]airflow.TaskAnswer),
		Ahead: d.skew - skew, ClockKnown: !d.timeless,
	}
	doubt := func(run airflow.DagRun) string {
		_, known := d.runs[run]
		switch {
		case d.purged[run] || !known:
			return "404"
		case d.hidden[run]:
			return "403"
		}
		return ""
	}
	date := func(t time.Time) time.Time {
		if t.IsZero() {
			return t
		}
		return t.Add(d.skew)
	}
	for _, run := range asked.Runs {
		answer := d.runs[run]
		answer.EndedAt = date(answer.EndedAt)
		if why := doubt(run); why != "" {
			answer = airflow.RunAnswer{Doubt: why}
		}
		answers.Runs[run] = answer
	}
	for _, task := range asked.Tasks {
		answer, known := d.tasks[task]
		answer.EndedAt = date(answer.EndedAt)
		if why := doubt(task.DagRun); why != "" || !known {
			answer = airflow.TaskAnswer{Doubt: "404" + why}
		}
		answers.Tasks[task] = answer
	}
	return answers
}

// heard is the truth about both deployments at the moment of an answer.
type heard struct {
	prod, staging *deployed
	at            time.Time
}

func (w *world) witnessAirflow() heard {
	copied := func(d *deployed) *deployed {
		c := *d
		c.runs, c.tasks = maps.Clone(d.runs), maps.Clone(d.tasks)
		return &c
	}
	return heard{copied(w.prod), copied(w.staging), w.now}
}

// known says why nobody can know whose runs use a sandbox; empty: its tag tells,
// or the place has one Airflow alone.
func (s *site) known(b *box) string {
	marker, marked := b.Tags[sandbox.TagDeployment]
	if marked && marker != "prod" || !marked && s.remote {
		return "it is not known to be of that Airflow"
	}
	return ""
}

func (h heard) of(b *box) *deployed {
	if b.staging {
		return h.staging
	}
	return h.prod
}

// lately reports whether what ended, as far as that is known, did so within grace.
func lately(ended time.Time, grace time.Duration, at time.Time) bool {
	return !ended.IsZero() && at.Before(ended.Add(grace))
}

// keepsClaim says why the claim on a sandbox must stand, by what was true when
// Airflow was last asked; empty: its task is over.
func (h heard) keepsClaim(s *site, b *box, grace time.Duration, at time.Time) string {
	if why := s.known(b); why != "" {
		return why
	}
	task, ok := airflow.ParseHolder(b.Tags[airflow.TagHolder])
	answer, known := h.of(b).tasks[task]
	switch {
	case !ok || !known:
		return "nobody knows its holder"
	case !answer.State.Terminal():
		return fmt.Sprintf("its task is %q", answer.State)
	case lately(answer.EndedAt, grace, at):
		return "its task was over only a moment ago"
	}
	return ""
}

// keepsOwned says why a sandbox must stand, for all that its Airflow said; empty:
// its run is over, and so is the task that holds it.
func (h heard) keepsOwned(s *site, b *box, at time.Time) string {
	if h.prod == nil {
		return "Airflow was not asked"
	}
	if b.Tags[sandbox.TagManagedBy] != "" {
		return "Terraform manages it"
	}
	if why := s.known(b); why != "" {
		return why
	}
	run, ok := airflow.ParseOwner(b.Tags[airflow.TagOwner])
	answer, known := h.of(b).runs[run]
	switch {
	case !ok || !known:
		return "its owner is no run"
	case !answer.State.Terminal():
		return fmt.Sprintf("its run is %q", answer.State)
	case lately(answer.EndedAt, simFinished, at):
		return "its run was over only a moment ago"
	case !answer.EndedAt.IsZero() && answer.EndedAt.Add(airflowError+clockError).Before(b.CreatedAt):
		return "its run was over before it was made"
	case b.Tags[airflow.TagHolder] != "":
		return h.keepsClaim(s, b, 0, at)
	case len(b.robbed) > 0:
		return "a task lives in it"
	}
	return ""
}
