// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package janitor

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestStopBeginsNothingNewAndSavesTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		l := newLab(dead("first"), dead("second"))
		l.onDestroy = func(call context.Context, _ sandbox.Ref) error {
			stop()
			synctest.Wait()
			if call.Err() != nil {
				t.Error("the call in flight got no grace")
			}
			return nil
		}
		opts := enforcing(l)
		result, err := Sweep(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		expect(t, "said", said(result), []string{"first reclaimed", "second postponed"})
		if !result.Stopped || result.Exit != ExitPartial || result.Unsaved != "" {
			t.Errorf("stopped %t, exit %d, unsaved %q", result.Stopped, result.Exit, result.Unsaved)
		}
		l.onDestroy = nil
		expect(t, "the next run", said(sweep(t, opts)), []string{"second reclaimed"})
	})
}

func TestCallInFlightEndsWithTheGraceOfAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		l := newLab(dead("hangs"))
		l.onDestroy = func(call context.Context, _ sandbox.Ref) error {
			stop()
			<-call.Done()
			return call.Err()
		}
		opts := enforcing(l)
		began := clock.System().Now()
		result, err := Sweep(ctx, opts)
		if took := clock.System().Now().Sub(began); err != nil || took != DefaultStopGrace {
			t.Errorf("took %s, error %v", took, err)
		}
		expect(t, "said", said(result), []string{"hangs failed"})
	})
}

func TestNothingBeginsAfterTheDeadline(t *testing.T) {
	l := newLab(dead("first"), dead("second"))
	opts := enforcing(l)
	l.onDestroy = func(context.Context, sandbox.Ref) error { opts.advance(11 * time.Minute); return nil }
	result := sweep(t, opts)
	expect(t, "said", said(result), []string{"first reclaimed", "second postponed"})
	if result.Exit != ExitPartial {
		t.Errorf("exit %d", result.Exit)
	}
}
