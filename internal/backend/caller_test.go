// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

var (
	readCall  = backend.Call{Verb: "get", Idempotent: true}
	writeCall = backend.Call{Verb: "create"}
)

// inBubble runs test in fake time and returns how long it took there.
func inBubble(t *testing.T, test func(t *testing.T)) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begun := clock.System().Now()
		test(t)
		took = clock.System().Now().Sub(begun)
	})
	return took
}

func wantAttempts(t *testing.T, caller *backend.Caller, call backend.Call, want int) {
	t.Helper()
	if got := caller.Counts()[call.Verb]; got != want {
		t.Errorf("%d attempts, want %d", got, want)
	}
}

func TestOnlyIdempotentCallsThatAreUnavailableAreTriedAgain(t *testing.T) {
	for _, test := range []struct {
		name string
		call backend.Call
		err  error
		want int
	}{
		{"read, unavailable", readCall, backend.ErrUnavailable, 4},
		{"read, asked to come back", readCall, &backend.RetryAfterError{After: time.Second, Err: errors.New("busy")}, 4},
		{"write, unavailable", writeCall, backend.ErrUnavailable, 1},
		{"write, asked to come back", writeCall, &backend.RetryAfterError{After: time.Second, Err: errors.New("busy")}, 1},
		{"read, not found", readCall, backend.ErrNotFound, 1},
		{"read, not authorized", readCall, backend.ErrUnauthorized, 1},
		{"read, conflict", readCall, backend.ErrConflict, 1},
		{"read, unknown outcome", readCall, backend.ErrUnknownOutcome, 1},
		{"read, no class", readCall, errors.New("odd"), 1},
		{"read, fine", readCall, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				caller := new(backend.Caller)
				err := caller.Do(t.Context(), test.call, func(context.Context) error { return test.err })
				if !errors.Is(err, test.err) {
					t.Errorf("Do = %v, want %v", err, test.err)
				}
				wantAttempts(t, caller, test.call, test.want)
			})
		})
	}
}

func TestACallThatWorksAgainSucceeds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		caller := new(backend.Caller)
		err := caller.Do(t.Context(), readCall, func(context.Context) error {
			if caller.Counts()[readCall.Verb] < 3 {
				return backend.ErrUnavailable
			}
			return nil
		})
		if err != nil {
			t.Errorf("Do: %v", err)
		}
		wantAttempts(t, caller, readCall, 3)
	})
}

func TestWaitsGrowAndStayBounded(t *testing.T) {
	took := inBubble(t, func(t *testing.T) {
		caller := &backend.Caller{MaxRetries: 10, MaxWait: 2 * time.Second}
		_ = caller.Do(t.Context(), readCall, func(context.Context) error { return backend.ErrUnavailable })
		wantAttempts(t, caller, readCall, 11)
	})
	// 0.25 + 0.5 + 1 + 7 × 2 seconds, each up to 20 % off.
	if least, most := 12*time.Second, 19*time.Second; took < least || took > most {
		t.Errorf("ten waits took %s, want %s to %s", took, least, most)
	}
}

func TestTheFirstWaitCanBeSet(t *testing.T) {
	took := inBubble(t, func(t *testing.T) {
		caller := &backend.Caller{MinWait: 10 * time.Second, MaxRetries: 1}
		_ = caller.Do(t.Context(), readCall, func(context.Context) error { return backend.ErrUnavailable })
	})
	if took < 8*time.Second || took > 12*time.Second {
		t.Errorf("waited %s, want about 10s", took)
	}
}

func TestEachAttemptIsLoggedForDebugging(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer slog.SetDefault(before)
	_ = new(backend.Caller).Do(t.Context(), writeCall, func(context.Context) error { return errors.New("the vendor's words") })
	if line := log.String(); !strings.Contains(line, "level=DEBUG") || !strings.Contains(line, "verb=create") || !strings.Contains(line, "the vendor's words") {
		t.Errorf("logged %q", line)
	}
}

func TestMinusOneRetryIsNone(t *testing.T) {
	caller := &backend.Caller{MaxRetries: -1}
	_ = caller.Do(t.Context(), readCall, func(context.Context) error { return backend.ErrUnavailable })
	wantAttempts(t, caller, readCall, 1)
}

func TestRetryAfterIsHonoured(t *testing.T) {
	took := inBubble(t, func(t *testing.T) {
		caller := &backend.Caller{MaxRetries: 2}
		err := caller.Do(t.Context(), readCall, func(context.Context) error {
			return &backend.RetryAfterError{After: 7 * time.Second, Err: errors.New("too many requests")}
		})
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "too many requests (try again after 7s)") {
			t.Errorf("Do = %v", err)
		}
	})
	if took != 14*time.Second {
		t.Errorf("two waits took %s, want 14s", took)
	}
}

func TestRetryAfterBeyondTheBoundIsNotWaitedFor(t *testing.T) {
	took := inBubble(t, func(t *testing.T) {
		caller := &backend.Caller{MaxWait: 10 * time.Second}
		err := caller.Do(t.Context(), readCall, func(context.Context) error {
			return &backend.RetryAfterError{After: 11 * time.Second, Err: errors.New("maintenance")}
		})
		if !errors.Is(err, backend.ErrUnavailable) {
			t.Errorf("Do = %v, want unavailable", err)
		}
		wantAttempts(t, caller, readCall, 1)
	})
	if took != 0 {
		t.Errorf("waited %s", took)
	}
}

func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestEachAttemptHasItsDeadline(t *testing.T) {
	for _, test := range []struct {
		name     string
		caller   *backend.Caller
		call     backend.Call
		deadline time.Duration
	}{
		{"the default", &backend.Caller{}, writeCall, time.Minute},
		{"the Caller's", &backend.Caller{DefaultDeadline: 3 * time.Second}, writeCall, 3 * time.Second},
		{"the call's", &backend.Caller{DefaultDeadline: 3 * time.Second}, backend.Call{Verb: "exec", Deadline: time.Hour}, time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			took := inBubble(t, func(t *testing.T) { _ = test.caller.Do(t.Context(), test.call, hang) })
			if took != test.deadline {
				t.Errorf("ended after %s, want %s", took, test.deadline)
			}
		})
	}
}

func TestAReadWithoutAnAnswerIsUnavailableAndTriedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		caller := new(backend.Caller)
		err := caller.Do(t.Context(), readCall, hang)
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "no answer within 1m0s") {
			t.Errorf("Do = %v, want unavailable after a minute", err)
		}
		wantAttempts(t, caller, readCall, 4)
	})
}

func TestAWriteWithoutAnAnswerHasAnUnknownOutcome(t *testing.T) {
	for name, do := range map[string]func(context.Context) error{
		"plain": hang,
		"already called unavailable by the vendor package": func(ctx context.Context) error {
			return errors.Join(backend.ErrUnavailable, hang(ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				caller := new(backend.Caller)
				if err := caller.Do(t.Context(), writeCall, do); !errors.Is(err, backend.ErrUnknownOutcome) {
					t.Errorf("Do = %v, want an unknown outcome", err)
				}
				wantAttempts(t, caller, writeCall, 1)
			})
		})
	}
}

func TestAnAnswerIsKeptAlthoughTheDeadlineHasPassed(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		err := new(backend.Caller).Do(t.Context(), writeCall, func(ctx context.Context) error {
			_ = hang(ctx)
			return backend.ErrUnauthorized
		})
		if !errors.Is(err, backend.ErrUnauthorized) || errors.Is(err, backend.ErrUnknownOutcome) {
			t.Errorf("Do = %v, want only not authorized", err)
		}
	})
}

func TestAWriteGivenUpHasAnUnknownOutcomeAndSaysWhy(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := new(backend.Caller).Do(ctx, writeCall, hang)
		if !errors.Is(err, backend.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) {
			t.Errorf("Do = %v, want an unknown outcome and canceled", err)
		}
	})
}

func TestTheLastErrorIsKeptWhenTheContextEnds(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		caller := &backend.Caller{MaxRetries: 100}
		err := caller.Do(ctx, readCall, func(context.Context) error {
			return &backend.RetryAfterError{After: 4 * time.Second, Err: errors.New("the vendor's own words")}
		})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "the vendor's own words") {
			t.Errorf("Do = %v, want the deadline and the last error", err)
		}
	})
}

func TestACallUnderAnEndedContextIsNotMade(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	caller := new(backend.Caller)
	if err := caller.Do(ctx, readCall, func(context.Context) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("Do = %v, want canceled", err)
	}
	wantAttempts(t, caller, readCall, 0)
}

func TestTheRateLimitSpacesTheAttemptsOfAllCalls(t *testing.T) {
	took := inBubble(t, func(t *testing.T) {
		caller := &backend.Caller{Limiter: rate.NewLimiter(rate.Every(time.Second), 1)}
		for range 3 {
			for _, call := range []backend.Call{readCall, writeCall} {
				if err := caller.Do(t.Context(), call, func(context.Context) error { return nil }); err != nil {
					t.Errorf("Do: %v", err)
				}
			}
		}
	})
	if took != 5*time.Second {
		t.Errorf("six attempts took %s, want 5s", took)
	}
}

func TestARateLimitThatLeavesNoTimeKeepsTheLastError(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		caller := &backend.Caller{Limiter: rate.NewLimiter(rate.Every(time.Minute), 1)}
		err := caller.Do(ctx, readCall, func(context.Context) error { return backend.ErrUnavailable })
		if !errors.Is(err, backend.ErrUnavailable) || !strings.Contains(err.Error(), "wait for the rate limit") {
			t.Errorf("Do = %v, want the rate limit and the last error", err)
		}
		wantAttempts(t, caller, readCall, 1)
	})
}

func TestInterceptStandsAroundEveryAttempt(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var before, after int
		caller := &backend.Caller{Intercept: func(ctx context.Context, call backend.Call, attempt func(context.Context) error) error {
			before++
			if call != readCall {
				t.Errorf("call %+v, want %+v", call, readCall)
			}
			if err := attempt(ctx); err != nil {
				return err
			}
			after++
			if after == 1 {
				return backend.ErrUnavailable // the effect took place, the reply is lost
			}
			return nil
		}}
		effects := 0
		err := caller.Do(t.Context(), readCall, func(context.Context) error { effects++; return nil })
		if err != nil || before != 2 || effects != 2 {
			t.Errorf("Do = %v after %d attempts with %d effects; want two of each", err, before, effects)
		}
	})
}
