// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// reads is a backend whose reads answer one after the other, the last one again
// and again.
func reads(answers ...any) *scripted {
	n := 0
	return &scripted{get: func(sandbox.Ref) (sandbox.Sandbox, error) {
		answer := answers[min(n, len(answers)-1)]
		n++
		switch answer := answer.(type) {
		case sandbox.State:
			return sandbox.Sandbox{State: answer}, nil
		case error:
			return sandbox.Sandbox{}, answer
		default:
			return sandbox.Sandbox{}, fmt.Errorf("the script answers %v", answer)
		}
	}}
}

func TestWaitGoneEndsWhenTheSandboxIsGone(t *testing.T) {
	for name, b := range map[string]*scripted{
		"gone already":                 reads(backend.ErrNotFound),
		"ended":                        reads(sandbox.Stopping, sandbox.Ended),
		"still called running":         reads(sandbox.Running, sandbox.Running, sandbox.Stopping, backend.ErrNotFound),
		"unavailable in between":       reads(sandbox.Running, backend.ErrUnavailable, backend.ErrNotFound),
		"failed until it is not there": reads(sandbox.Failed, backend.ErrNotFound),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				if err := backend.WaitGone(t.Context(), b, edited); err != nil {
					t.Errorf("WaitGone: %v", err)
				}
			})
		})
	}
}

func TestWaitGoneSaysWhatItSawLast(t *testing.T) {
	for last, b := range map[string]*scripted{
		"last seen stopping":                 reads(sandbox.Running, sandbox.Stopping),
		"last answer: unavailable":           reads(sandbox.Running, backend.ErrUnavailable),
		`sandbox sb-1 on "scripted" is gone`: reads(sandbox.Running),
	} {
		t.Run(last, func(t *testing.T) {
			took := inBubble(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := backend.WaitGone(ctx, b, edited)
				if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), last) {
					t.Errorf("WaitGone = %v, want %q", err, last)
				}
			})
			if took != time.Hour {
				t.Errorf("waited %s, want an hour", took)
			}
			if polls := b.count("get"); polls < 100 || polls > 1000 {
				t.Errorf("%d polls in an hour", polls)
			}
		})
	}
}

func TestWaitGoneWithoutADeadlineWaitsAsLongAsTheBackendTakes(t *testing.T) {
	for _, promised := range []time.Duration{0, 5 * time.Minute} {
		took := inBubble(t, func(t *testing.T) {
			b := reads(sandbox.Running)
			b.caps.WaitGoneTimeout = promised
			_ = backend.WaitGone(t.Context(), b, edited)
		})
		if want := max(promised, time.Minute); took != want {
			t.Errorf("promised %s: waited %s, want %s", promised, took, want)
		}
	}
}

func TestWaitGoneNeverTakesAnotherErrorForGone(t *testing.T) {
	for _, class := range []error{backend.ErrUnauthorized, backend.ErrConflict, errors.New("odd")} {
		b := reads(class)
		if err := backend.WaitGone(t.Context(), b, edited); !errors.Is(err, class) || b.count("get") != 1 {
			t.Errorf("WaitGone = %v after %d reads, want %v at once", err, b.count("get"), class)
		}
	}
}
