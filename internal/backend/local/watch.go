// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
)

// watchEvery is how soon a running command learns that its sandbox is being
// destroyed or loses its network. The record is looked at rather than watched,
// because that works on every file system and has no limit per user.
const watchEvery = 50 * time.Millisecond

// The exit codes that a shell gives a program it cannot run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// cause is why a command ended.
type cause int

const (
	done cause = iota
	timedOut
	destroyed
	cutOff
	gaveUp
)

// ending is how a command ended.
type ending struct {
	cause   cause
	exit    engine.Exit
	err     error
	timeout time.Duration // that applied in the end
}

// watch waits for the end of process, and brings it about when wanted is over,
// the sandbox ends, is being destroyed or loses the network that the command
// has, or ctx ends. A renewal moves the sandbox's end.
func (h *host) watch(ctx context.Context, st *state, rec record, process *engine.Process, wanted time.Duration) ending {
	ended := make(chan ending, 1)
	go func() {
		exit, err := process.Wait()
		ended <- ending{exit: exit, err: err}
	}()
	began := h.clock.Now()
	timeout := min(wanted, rec.ExpiresAt.Sub(began))
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	look := time.NewTicker(watchEvery)
	defer look.Stop()

	for {
		why := done
		select {
		case end := <-ended:
			end.timeout = timeout
			return end
		case <-ctx.Done():
			why = gaveUp
		case <-deadline.C:
			why = timedOut
		case <-look.C:
		}
		switch now, stands := st.stands(rec); {
		case why == gaveUp:
		case !stands:
			why = destroyed
		case rec.OpenNetwork && !now.OpenNetwork:
			why = cutOff
		case !now.ExpiresAt.Equal(rec.ExpiresAt):
			rec.ExpiresAt, why = now.ExpiresAt, done
			timeout = min(wanted, rec.ExpiresAt.Sub(began))
			deadline.Reset(timeout - h.clock.Now().Sub(began))
		}
		if why == done {
			continue
		}
		process.Kill()
		end := <-ended
		if end.timeout = timeout; end.exit.Killed {
			end.cause = why
		}
		return end
	}
}

// stands returns the sandbox's record as it is now, and whether nobody has begun
// to destroy it. A record that cannot be read is no reason to end a command.
func (st *state) stands(rec record) (record, bool) {
	now, err := st.find(rec.sandbox().Ref)
	if err != nil {
		return rec, !errors.Is(err, backend.ErrNotFound)
	}
	return now, now.Status == statusRunning
}

// report writes the exit code. A program that cannot be run is the command's
// failure, as it is in a shell, and stderr says why; what else went wrong is an
// error.
func (end ending) report(result *backend.Result) error {
	result.ExitCode = end.exit.Code
	result.TimedOut = end.cause == timedOut
	if end.cause == done && end.exit.Killed { // by the kernel, out of memory
		result.ExitCode = 128 + 9
	}
	switch {
	case !errors.Is(end.err, engine.ErrProgram):
		return end.err
	case errors.Is(end.err, fs.ErrNotExist):
		result.ExitCode = exitNotFound
	default:
		result.ExitCode = exitNotExecutable
	}
	return nil
}
