// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"errors"
	"fmt"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Releasing a claim races with its own task: Airflow's retry of it attaches
// without a write, because the holder in the tag is its own name. So whoever takes
// a claim off looks again afterwards. A task that was let in by the old tag lived
// before the write and is not over after it, or is over and needs no claim.

// release takes a claim off, and puts it back unless its task is still over. The
// facts are those of the fresh read.
func (r *run) release(ctx context.Context, p *place, v verdict.Verdict, facts verdict.Facts) (ActionResult, string) {
	taken, now, err := r.takeOff(ctx, p, v, facts)
	switch {
	case err != nil && !taken:
		return Failed, err.Error()
	case !taken:
		return Spared, contradiction(now)
	}
	result, detail := r.verify(ctx, p, v)
	if result == Failed && err != nil {
		detail = err.Error() + "; " + detail
	}
	return result, detail
}

// takeOff removes the claim once, if the verdict on the very tags that are edited
// is still the same. What stands there after a write of ours is somebody's who
// came since.
func (r *run) takeOff(ctx context.Context, p *place, v verdict.Verdict, facts verdict.Facts) (taken bool, now verdict.Verdict, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.CallTimeout)
	defer cancel()
	box := *facts.Subjects[0].Sandbox
	err = backend.EditTags(ctx, p.Backend, v.Ref, func(tags sandbox.Tags) {
		box.Tags = tags.Clone()
		facts.Subjects = []verdict.Subject{{Sandbox: &box}}
		if now = r.judge(&facts, p.Policy, 0); !taken && agree(now, v) {
			taken = airflow.Release(tags, v.Claim.Holder)
		}
	})
	return taken, now, err
}

// verify reads the tag and the task after a claim was taken off, by this run or
// by one that did not come so far.
func (r *run) verify(ctx context.Context, p *place, v verdict.Verdict) (ActionResult, string) {
	ctx = context.WithoutCancel(ctx) // each step has its own time, and none is left half done
	holder, err := r.holder(ctx, p, v.Ref)
	switch {
	case errors.Is(err, backend.ErrNotFound):
		return Vanished, "it ended while its claim was released"
	case err != nil:
		return Failed, fmt.Sprintf("whether %s still holds it is not known: %v", v.Claim.Holder, err)
	}
	moved := r.moved(ctx, p, v.Claim)
	switch {
	case holder == v.Claim.Holder && moved == "":
		return Failed, "the write that took the claim off was lost"
	case holder == v.Claim.Holder:
		return Spared, "its task holds it again: " + moved
	case moved == "" && holder == "":
		return Released, "it was held by " + v.Claim.Holder
	case moved == "":
		return Released, fmt.Sprintf("it was held by %s, and %s has it now", v.Claim.Holder, holder)
	}
	return r.putBack(ctx, p, v, moved)
}

func (r *run) holder(ctx context.Context, p *place, ref sandbox.Ref) (string, error) {
	facts, err := r.read(ctx, p, verdict.Key{Ref: ref})
	if err != nil {
		return "", err
	}
	box := facts.Subjects[0].Sandbox
	if box.Problem != "" || !box.TagsKnown {
		return "", fmt.Errorf("%w: its tags could not be read", backend.ErrUnavailable)
	}
	return airflow.Holder(box.Tags), nil
}

// moved says why the task of a claim may not be over any more; empty: it is, by
// the same try.
func (r *run) moved(ctx context.Context, p *place, claim verdict.Claim) string {
	task, ok := airflow.ParseHolder(claim.Holder)
	if !ok {
		return "it is no task's name"
	}
	told := r.question(ctx, p.Policy.Airflow.Name, airflow.Questions{Tasks: []airflow.TaskInstance{task}}, r.CallTimeout)
	answer, known := told.answers.Tasks[task]
	switch {
	case told.err != nil:
		return told.err.Error()
	case !known || answer.Doubt != "":
		return "Airflow cannot tell of its task: " + answer.Doubt
	case !answer.State.Terminal():
		return fmt.Sprintf("its task is %q", answer.State)
	case answer.Try != claim.Try:
		return fmt.Sprintf("its task has come to try %d", answer.Try)
	}
	return ""
}

// putBack restores a claim where nobody else has taken the sandbox.
func (r *run) putBack(ctx context.Context, p *place, v verdict.Verdict, why string) (ActionResult, string) {
	ctx, cancel := context.WithTimeout(ctx, r.CallTimeout)
	defer cancel()
	other := ""
	err := backend.EditTags(ctx, p.Backend, v.Ref, func(tags sandbox.Tags) {
		if other = airflow.Holder(tags); other == "" {
			tags[airflow.TagHolder] = v.Claim.Holder
		}
	})
	switch {
	case errors.Is(err, backend.ErrNotFound):
		return Vanished, "it ended while its claim was released"
	case err != nil:
		return Failed, fmt.Sprintf("%s, and its claim %s could not be put back: %v", why, v.Claim.Holder, err)
	case other != "" && other != v.Claim.Holder:
		return Failed, fmt.Sprintf("%s, and its claim %s cannot be put back: %s has the sandbox", why, v.Claim.Holder, other)
	}
	return Restored, why
}

// finishReleases looks after the claims that an earlier run took off, or was
// about to, without coming so far as to know whether that was right. It does so
// where a brake holds, too: nothing is taken by it.
func (r *run) finishReleases(ctx context.Context) {
	r.everywhere(func(p *place) {
		p.actions = append(p.actions, r.several(p.unfinished(), func(v verdict.Verdict) *Action {
			if r.over() != "" {
				return nil
			}
			result, detail := r.finish(ctx, p, v)
			action := r.settle(p, v, result, detail)
			if result == Spared {
				return nil // nothing was taken
			}
			return action
		})...)
	})
}

func (r *run) finish(ctx context.Context, p *place, v verdict.Verdict) (result ActionResult, detail string) {
	defer func() {
		if cause := recover(); cause != nil {
			result, detail = Failed, fmt.Sprintf("the backend panicked: %v", cause)
		}
	}()
	if holder, err := r.holder(ctx, p, v.Ref); err == nil && holder == v.Claim.Holder {
		return Spared, "its claim stands"
	}
	return r.verify(ctx, p, v)
}
