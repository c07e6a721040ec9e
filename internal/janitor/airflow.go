// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Airflow is one Airflow deployment. It answers what it is asked at once; an error
// means that nothing is known. Asked about nothing, it shows that it can be asked.
// It is safe for concurrent use.
type Airflow interface {
	Ask(context.Context, airflow.Questions) (airflow.Answers, error)
}

// hearAll asks each Airflow once about all that the looks have met of its own, and
// whether it can be asked where they met nothing: else a wrong password would show
// only when the first claim is stale.
func (r *run) hearAll(ctx context.Context) {
	asks := make(map[string]airflow.Questions)
	for _, p := range r.places {
		name := p.Policy.Airflow.Name
		if name == "" {
			continue
		}
		p.hearing = &Hearing{Name: name, LastHeard: p.known.LastHeard}
		if p.AirflowError != nil {
			p.noteHearing(r, p.untold().Doubt)
			continue
		}
		asked := r.questions(p, &p.facts)
		p.hearing.Asked = asked.Len()
		asks[name] = asks[name].And(asked)
	}
	told := make(map[string]*telling)
	var group errgroup.Group
	group.SetLimit(r.Parallel)
	for name, asked := range asks {
		t := new(telling)
		told[name] = t
		timeout := r.ListTimeout
		if asked.Len() == 0 {
			timeout = r.CallTimeout
		}
		group.Go(func() error { *t = r.question(ctx, name, asked, timeout); return nil })
	}
	_ = group.Wait() // nobody returns an error: each tells of its own
	for _, p := range r.places {
		if p.hearing != nil && p.AirflowError == nil {
			p.believe(told[p.hearing.Name], &p.facts)
			p.noteHearing(r, p.facts.Airflow.Doubt)
		}
	}
}

// untold is what is known of a place's Airflow before it is asked.
func (p *place) untold() verdict.Testimony {
	testimony := verdict.Testimony{Deployment: p.Policy.Airflow}
	if p.AirflowError != nil {
		testimony.Doubt = fmt.Sprintf("Airflow %s cannot be asked: %v", p.Policy.Airflow.Name, p.AirflowError)
	}
	return testimony
}

// hear asks about the subjects of facts that were not asked about yet.
func (r *run) hear(ctx context.Context, p *place, facts *verdict.Facts) {
	if asked := r.questions(p, facts); asked.Len() > 0 {
		told := r.question(ctx, p.Policy.Airflow.Name, asked, r.CallTimeout)
		p.believe(&told, facts)
	}
}

func (r *run) questions(p *place, facts *verdict.Facts) airflow.Questions {
	policy := p.Policy
	if r.blind != nil {
		r.blind(facts, &policy)
	}
	return verdict.Questions(facts, policy)
}

// telling is what came of asking one Airflow.
type telling struct {
	answers airflow.Answers
	err     error
}

func (r *run) question(ctx context.Context, name string, asked airflow.Questions, timeout time.Duration) (told telling) {
	defer func() {
		if cause := recover(); cause != nil {
			told = telling{err: fmt.Errorf("the client panicked: %v", cause)}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	deployment := r.Airflow[name]
	if deployment == nil {
		return telling{err: errors.New("it was not opened")}
	}
	answers, err := deployment.Ask(ctx, asked)
	return telling{answers, err}
}

// believe puts into facts what was told, and why none of it counts where that is
// so. An Airflow whose clock is not ours dates nothing that may go.
func (p *place) believe(told *telling, facts *verdict.Facts) {
	name, limit := p.Policy.Airflow.Name, p.Policy.SkewLimit()
	testimony := verdict.Testimony{Deployment: facts.Airflow.Deployment}
	switch ahead := told.answers.Ahead; {
	case told.err != nil:
		testimony.Doubt = fmt.Sprintf("Airflow %s was asked, and nothing is known: %v", name, told.err)
	case told.answers.ClockKnown && ahead.Abs() > limit:
		testimony.Doubt = fmt.Sprintf("the clock of Airflow %s and ours are %s apart, and %s is the most at which a date can be believed: correct the one that is wrong", name, ahead.Abs().Round(time.Second), limit)
	default:
		testimony.Answers = told.answers
	}
	facts.Airflow = testimony
}

func (p *place) noteHearing(r *run, why string) {
	if p.hearing.Error = why; why == "" {
		p.hearing.LastHeard = r.Clock.Now()
		return
	}
	r.Log.Warn("Airflow is not heard", "connection", p.Name, "airflow", p.hearing.Name, "error", why)
}
