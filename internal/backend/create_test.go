// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

var spec = sandbox.Spec{Lifetime: time.Hour}

func newRequest() backend.Request {
	return backend.NewRequest(spec, nil, time.Unix(1_800_000_000, 0))
}

func TestARequestCarriesItsMarkEverywhere(t *testing.T) {
	now := time.Unix(1_800_000_000, 900_000_000)
	tags := sandbox.Tags{"team": "research"}
	first, second := backend.NewRequest(spec, tags, now), backend.NewRequest(spec, tags, now)

	if first.Mark == second.Mark || first.Name == second.Name {
		t.Errorf("two requests share the mark %q or the name %q", first.Mark, first.Name)
	}
	if !strings.Contains(first.Name, first.Mark) || first.Tags[sandbox.TagAttempt] != first.Mark || first.Tags["team"] != "research" {
		t.Errorf("mark %q, name %q, tags %q", first.Mark, first.Name, first.Tags)
	}
	if want := time.Unix(1_800_003_600, 0); !first.ExpiresAt.Equal(want) {
		t.Errorf("ExpiresAt = %s, want whole seconds: %s", first.ExpiresAt, want)
	}
	if len(tags) != 1 {
		t.Errorf("the caller's tags became %q", tags)
	}
}

func TestARefusedSpecIsNeverSent(t *testing.T) {
	b := &scripted{refusals: []backend.Refusal{{Attribute: "gpu", Reason: "there is none"}, {Attribute: "cloud", Reason: "there is one"}}}
	_, err := backend.Create(t.Context(), b, newRequest())
	if !errors.Is(err, backend.ErrUnenforceable) || !strings.Contains(err.Error(), "gpu: there is none; cloud: there is one") {
		t.Errorf("Create = %v, want both refusals", err)
	}
}

func TestACreateThatAnswersIsNotLookedUp(t *testing.T) {
	for name, answer := range map[string]error{
		"made": nil, "invalid": backend.ErrInvalid, "unavailable": backend.ErrUnavailable,
		"not authorized": backend.ErrUnauthorized, "no class": errors.New("no capacity"),
	} {
		t.Run(name, func(t *testing.T) {
			b := &scripted{create: func(context.Context, backend.Request) (sandbox.Sandbox, error) {
				return running("sb-1", time.Time{}), answer
			}}
			made, err := backend.Create(t.Context(), b, newRequest())
			if !errors.Is(err, answer) || (err == nil) != (made.Handle == "sb-1") {
				t.Errorf("Create = %+v, %v; want %v", made, err, answer)
			}
		})
	}
}

// lostCreate is a backend whose create call goes unanswered; found are the
// answers to the look-ups, the last one again and again.
func lostCreate(lost error, found ...func() ([]sandbox.Sandbox, error)) *scripted {
	looks := 0
	return &scripted{
		create: func(context.Context, backend.Request) (sandbox.Sandbox, error) { return sandbox.Sandbox{}, lost },
		find: func(ctx context.Context) ([]sandbox.Sandbox, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			answer := found[min(looks, len(found)-1)]
			looks++
			return answer()
		},
		destroy: func(sandbox.Ref) error { return nil },
	}
}

func finds(found ...sandbox.Sandbox) func() ([]sandbox.Sandbox, error) {
	return func() ([]sandbox.Sandbox, error) { return slices.Clone(found), nil }
}

func failsTo(err error) func() ([]sandbox.Sandbox, error) {
	return func() ([]sandbox.Sandbox, error) { return nil, err }
}

func inState(s sandbox.Sandbox, state sandbox.State) sandbox.Sandbox {
	s.State = state
	return s
}

func TestALostReplyIsResolvedByItsMark(t *testing.T) {
	var (
		older = running("sb-2", time.Unix(100, 0))
		newer = running("sb-1", time.Unix(200, 0))
	)
	for _, test := range []struct {
		name      string
		lost      error
		lag       time.Duration
		found     []func() ([]sandbox.Sandbox, error)
		adopted   string
		wantErr   error
		destroyed []string
	}{
		{name: "none: nothing exists, and trying again is safe", lost: backend.ErrUnknownOutcome,
			found: []func() ([]sandbox.Sandbox, error){finds()}, wantErr: backend.ErrUnavailable},
		{name: "one: adopted", lost: backend.ErrUnknownOutcome,
			found: []func() ([]sandbox.Sandbox, error){finds(older)}, adopted: "sb-2"},
		{name: "several: the oldest is adopted, the others destroyed", lost: backend.ErrUnknownOutcome,
			found: []func() ([]sandbox.Sandbox, error){finds(newer, older)}, adopted: "sb-2", destroyed: []string{"sb-1"}},
		{name: "it turns up late", lost: backend.ErrUnknownOutcome, lag: 10 * time.Second,
			found: []func() ([]sandbox.Sandbox, error){finds(), finds(), finds(older)}, adopted: "sb-2"},
		{name: "it is still starting", lost: backend.ErrUnknownOutcome,
			found: []func() ([]sandbox.Sandbox, error){finds(inState(older, sandbox.Starting)), finds(older)}, adopted: "sb-2"},
		{name: "it failed to start: destroyed", lost: backend.ErrUnknownOutcome,
			found:   []func() ([]sandbox.Sandbox, error){finds(inState(older, sandbox.Failed)), finds()},
			wantErr: backend.ErrUnavailable, destroyed: []string{"sb-2"}},
		{name: "it is on its way out: left to it", lost: backend.ErrUnknownOutcome,
			found: []func() ([]sandbox.Sandbox, error){finds(inState(older, sandbox.Stopping))}, wantErr: backend.ErrUnavailable},
		{name: "the look-up works only later", lost: backend.ErrUnknownOutcome,
			found: []func() ([]sandbox.Sandbox, error){failsTo(backend.ErrUnavailable), finds(older)}, adopted: "sb-2"},
		{name: "the look-up is not allowed", lost: backend.ErrUnknownOutcome,
			found: []func() ([]sandbox.Sandbox, error){failsTo(backend.ErrUnauthorized)}, wantErr: backend.ErrUnknownOutcome},
		{name: "the name is taken by itself", lost: backend.ErrConflict,
			found: []func() ([]sandbox.Sandbox, error){finds(older)}, adopted: "sb-2"},
		{name: "the name is taken by another", lost: backend.ErrConflict,
			found: []func() ([]sandbox.Sandbox, error){finds()}, wantErr: backend.ErrConflict},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := lostCreate(test.lost, test.found...)
				b.caps.FindLag = test.lag
				made, err := backend.Create(t.Context(), b, newRequest())
				if made.Handle != test.adopted || !errors.Is(err, test.wantErr) || (err == nil) != (test.wantErr == nil) {
					t.Errorf("Create = %q, %v; want %q, %v", made.Handle, err, test.adopted, test.wantErr)
				}
				if errors.Is(test.wantErr, backend.ErrUnavailable) && errors.Is(err, backend.ErrUnknownOutcome) {
					t.Errorf("Create = %v, although it was found out", err)
				}
				wantDestroyed(t, b, test.destroyed...)
			})
		})
	}
}

func wantDestroyed(t *testing.T, b *scripted, handles ...string) {
	t.Helper()
	for _, handle := range []string{"sb-1", "sb-2"} {
		if got := b.count("destroy "+handle) > 0; got != slices.Contains(handles, handle) {
			t.Errorf("%s destroyed: %v, want %v", handle, got, !got)
		}
	}
}

func TestACreateGivenUpLeavesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupted := errors.New("interrupted")
		b := lostCreate(context.Canceled, finds(), finds(running("sb-1", time.Time{}), running("sb-2", time.Time{})), finds())
		b.caps.FindLag = 10 * time.Second
		b.create = func(context.Context, backend.Request) (sandbox.Sandbox, error) {
			cancel(interrupted)
			return sandbox.Sandbox{}, context.Canceled
		}
		_, err := backend.Create(ctx, b, newRequest())
		if !errors.Is(err, interrupted) || errors.Is(err, backend.ErrUnknownOutcome) {
			t.Errorf("Create = %v, want only the cause", err)
		}
		wantDestroyed(t, b, "sb-1", "sb-2")
	})
}

// lateTimer is a context whose deadline has passed, and whose timer has not fired.
type lateTimer struct{ context.Context }

func (lateTimer) Deadline() (time.Time, bool) { return clock.System().Now(), true }

func TestACreateThatTheServerGivesUpAtOurDeadlineLeavesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, fire := context.WithCancelCause(t.Context())
		b := lostCreate(backend.ErrUnknownOutcome, finds(running("sb-1", time.Time{})), finds())
		time.AfterFunc(time.Millisecond, func() { fire(context.DeadlineExceeded) })
		_, err := backend.Create(lateTimer{ctx}, b, newRequest())
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, backend.ErrUnknownOutcome) {
			t.Errorf("Create = %v, want only the deadline", err)
		}
		wantDestroyed(t, b, "sb-1")
	})
}

func TestACreateGivenUpBeforehandIsNotMade(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := backend.Create(ctx, new(scripted), newRequest()); !errors.Is(err, context.Canceled) {
		t.Errorf("Create = %v, want canceled", err)
	}
}

func TestAnOutcomeThatCannotBeFoundOutNamesTheMark(t *testing.T) {
	for name, b := range map[string]*scripted{
		"the look-up fails for good":    lostCreate(backend.ErrUnknownOutcome, failsTo(errors.New("no answer"))),
		"the look-up stays unavailable": lostCreate(backend.ErrUnknownOutcome, failsTo(backend.ErrUnavailable)),
		"it never stops starting":       lostCreate(backend.ErrUnknownOutcome, finds(inState(running("sb-1", time.Time{}), sandbox.Starting))),
	} {
		t.Run(name, func(t *testing.T) {
			took := inBubble(t, func(t *testing.T) {
				req := newRequest()
				_, err := backend.Create(t.Context(), b, req)
				if !errors.Is(err, backend.ErrUnknownOutcome) || !strings.Contains(err.Error(), req.Name) || !strings.Contains(err.Error(), "taskowned_attempt="+req.Mark) {
					t.Errorf("Create = %v, want an unknown outcome that names %s", err, req.Name)
				}
			})
			if took > 2*time.Minute {
				t.Errorf("looked for %s", took)
			}
		})
	}
}

func TestADestroyThatFailsDuringRecoveryNamesTheMark(t *testing.T) {
	b := lostCreate(backend.ErrUnknownOutcome, finds(running("sb-1", time.Unix(1, 0)), running("sb-2", time.Unix(2, 0))))
	b.destroy = func(sandbox.Ref) error { return backend.ErrUnauthorized }
	req := newRequest()
	_, err := backend.Create(t.Context(), b, req)
	if !errors.Is(err, backend.ErrUnknownOutcome) || !strings.Contains(err.Error(), req.Mark) || !strings.Contains(err.Error(), "destroy sb-2") {
		t.Errorf("Create = %v, want the mark and the handle", err)
	}
}

func TestALookUpWaitsOutTheLag(t *testing.T) {
	took := inBubble(t, func(t *testing.T) {
		b := lostCreate(backend.ErrUnknownOutcome, finds())
		b.caps.FindLag = 20 * time.Second
		begun := clock.System().Now()
		_, _ = backend.Create(t.Context(), b, newRequest())
		if waited := clock.System().Now().Sub(begun); waited < b.caps.FindLag {
			t.Errorf("absence was believed after %s, lag %s", waited, b.caps.FindLag)
		}
	})
	if took > 30*time.Second {
		t.Errorf("took %s", took)
	}
}
