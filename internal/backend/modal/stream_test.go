// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"bytes"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
)

func TestAStreamIsWaitedForWhileItMovesAndNoLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		var got bytes.Buffer
		s := drain(from, &got)
		go func() {
			for range 5 { // a slow reader of much output
				time.Sleep(drainQuiet / 2)
				_, _ = to.Write([]byte("x"))
			}
		}() // and then a process that was left behind holds it open
		begun := clock.System().Now() // the bubble's
		if s.settle(t.Context()) {
			t.Error("the end of a stream that is open was seen")
		}
		if took := clock.System().Now().Sub(begun); took < 5*drainQuiet/2 || took > 5*drainQuiet {
			t.Errorf("given up after %s", took)
		}
		s.close()
		if got.String() != "xxxxx" {
			t.Errorf("read %q, want all that was written", got.String())
		}
	})
}

func TestAStreamThatEndsIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		var got bytes.Buffer
		s := drain(from, &got)
		go func() {
			time.Sleep(drainQuiet / 2)
			_, _ = to.Write([]byte("x"))
			_ = to.Close()
		}()
		if !s.settle(t.Context()) || s.err != nil || got.String() != "x" {
			t.Errorf("read %q, %v; want the whole", got.String(), s.err)
		}
	})
}
