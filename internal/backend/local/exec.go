// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

const (
	// watchEvery is how soon a running command learns that its sandbox is being
	// destroyed. The record is looked at rather than watched, because that works
	// on every file system and has no limit per user.
	watchEvery = 50 * time.Millisecond
	// execGrace is what a call may take beside its command.
	execGrace = time.Minute
	// maxOutput bounds what is kept of each stream, in bytes: it is held in memory.
	maxOutput = 256 << 20
)

// The exit codes that a shell gives a program it cannot run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

// Exec runs the command until it ends, until its timeout, until the sandbox's
// own end or until the sandbox is destroyed, whichever is first. Everything it
// started is gone then.
func (h *host) Exec(ctx context.Context, ref sandbox.Ref, cmd backend.Command) (backend.Result, error) {
	var result backend.Result
	err := checkCommand(cmd)
	if err == nil {
		call := write("exec")
		call.Deadline = min(cmd.Timeout, lifetimeMax) + execGrace
		err = h.do(ctx, call, func(ctx context.Context, st *state) error {
			var err error
			result, err = h.exec(ctx, st, ref, cmd)
			return err
		})
	}
	if err != nil {
		return backend.Result{}, h.failed("run a command in sandbox", ref.Handle, err)
	}
	return result, nil
}

func checkCommand(cmd backend.Command) error {
	switch {
	case len(cmd.Argv) == 0:
		return fmt.Errorf("%w: the command is empty", backend.ErrInvalid)
	case cmd.Timeout <= 0:
		return fmt.Errorf("%w: the command needs a timeout", backend.ErrInvalid)
	case cmd.MaxOutput < 0, cmd.MaxOutput > maxOutput:
		return fmt.Errorf("%w: %d bytes of output cannot be kept; at most %d of each stream are, so write more to a file",
			backend.ErrInvalid, cmd.MaxOutput, maxOutput)
	}
	return nil
}

func (h *host) exec(ctx context.Context, st *state, ref sandbox.Ref, cmd backend.Command) (backend.Result, error) {
	e, err := h.isolation(ctx)
	if err != nil {
		return backend.Result{}, err
	}
	rec, running, err := h.enter(ctx, st, ref)
	if err != nil {
		return backend.Result{}, err
	}
	defer running.Close()
	room, err := st.room(rec, filepath.Join(h.dir, sandboxesDir, rec.Handle, workDir))
	if err != nil {
		return backend.Result{}, err
	}

	limit := cmp.Or(cmd.MaxOutput, backend.DefaultMaxOutput)
	stdout, stderr := &tail{limit: limit}, &tail{limit: limit}
	room.Argv, room.Dir, room.Env = cmd.Argv, commandDir(rec.Workdir, cmd.Dir), merged(rec.Env, cmd.Env)
	room.Stdin, room.Stdout, room.Stderr = cmd.Stdin, stdout, stderr
	process, err := e.Start(room)
	if err != nil {
		return backend.Result{}, classified(err)
	}
	watched := h.watch(ctx, st, rec, process, cmd.Timeout)
	if watched.cause == gaveUp {
		return backend.Result{}, context.Cause(ctx)
	}
	result := backend.Result{AppliedTimeout: watched.timeout}
	if err := watched.report(&result); err != nil {
		return backend.Result{}, classified(err)
	}
	result.Terminated = watched.cause == destroyed || watched.cause == timedOut && watched.timeout < cmd.Timeout
	result.Stdout, result.StdoutTruncated = stdout.kept()
	result.Stderr, result.StderrTruncated = stderr.kept()
	return result, nil
}

// room is where the commands of a sandbox run, with its files in the directory
// work.
func (st *state) room(rec record, work string) (engine.Spec, error) {
	root, err := st.imageRoot(rec.Image)
	return engine.Spec{
		Env:     rec.Env,
		Root:    root,
		Work:    work,
		Workdir: rec.Workdir,
		Network: rec.OpenNetwork,
		HostUID: rec.UID,
		HostGID: rec.GID,
	}, err
}

// enter takes part in the sandbox: until the file it returns is closed, nobody
// removes it.
func (h *host) enter(ctx context.Context, st *state, ref sandbox.Ref) (record, *os.File, error) {
	rec, err := st.find(ref)
	if err != nil {
		return record{}, nil, err
	}
	dir, err := st.openSandbox(ref)
	if err != nil {
		return record{}, nil, err
	}
	defer dir.Close()
	lock, err := dir.lock(ctx, runLock, shared)
	if errors.Is(err, fs.ErrNotExist) { // the directory is being deleted
		err = gone(ref)
	}
	if err != nil {
		return record{}, nil, err
	}
	// What was true before the lock may not be now.
	rec, err = st.find(rec.sandbox().Ref)
	if err == nil {
		err = h.usable(rec)
	}
	if err != nil {
		lock.Close()
		return record{}, nil, err
	}
	return rec, lock, nil
}

// cause is why a command ended.
type cause int

const (
	done cause = iota
	timedOut
	destroyed
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
// the sandbox ends or is being destroyed, or ctx ends. A renewal moves the
// sandbox's end.
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
		case !now.ExpiresAt.Equal(rec.ExpiresAt):
			rec, why = now, done
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

// classified gives the engine's errors the classes of package backend.
func classified(err error) error {
	switch {
	case errors.Is(err, engine.ErrUnavailable): // before ErrNotRun, which may be its cause
		return fmt.Errorf("%w: %w", backend.ErrUnenforceable, err)
	case errors.Is(err, engine.ErrExhausted):
		return fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	case errors.Is(err, engine.ErrInvalid), errors.Is(err, engine.ErrNotRun):
		return fmt.Errorf("%w: %w", backend.ErrInvalid, err)
	}
	return err
}

func commandDir(workdir, dir string) string {
	if path.IsAbs(dir) {
		return path.Clean(dir)
	}
	return path.Join(workdir, dir)
}

// merged returns base with over on top.
func merged(base, over map[string]string) map[string]string {
	all := make(map[string]string, len(base)+len(over))
	maps.Copy(all, base)
	maps.Copy(all, over)
	return all
}
