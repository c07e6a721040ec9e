// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"slices"

	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// queue is what one reason would take at one place, oldest first.
type queue struct {
	place    *place
	verdicts []verdict.Verdict
}

// choose picks what this run attempts: in turn from every place and reason, the
// one with the oldest first, so that none waits for another's backlog. What is
// over the cap is only counted: the next run finds it again.
func (r *run) choose() {
	var queues []*queue
	for _, p := range r.places {
		queues = append(queues, r.queues(p)...)
	}
	slices.SortStableFunc(queues, func(a, b *queue) int {
		return a.verdicts[0].Since.Compare(b.verdicts[0].Since)
	})
	left := r.DeletesPerRun
	for len(queues) > 0 {
		queues = slices.DeleteFunc(queues, func(q *queue) bool {
			if left > 0 {
				q.place.chosen = append(q.place.chosen, q.verdicts[0])
				left--
			} else {
				q.place.overCap++
			}
			q.verdicts = q.verdicts[1:]
			return len(q.verdicts) == 0
		})
	}
}

// queues parts what is condemned and approved by reason, in the plan's order.
func (r *run) queues(p *place) []*queue {
	byReason := make(map[verdict.Reason]*queue)
	var queues []*queue
	for _, v := range p.plan.Condemned() {
		if r.Approved != nil && !r.Approved(p.Name, v) {
			r.postpone(p, v, notApproved)
			continue
		}
		q := byReason[v.Reason]
		if q == nil {
			q = &queue{place: p}
			byReason[v.Reason] = q
			queues = append(queues, q)
		}
		q.verdicts = append(q.verdicts, v)
	}
	return queues
}
