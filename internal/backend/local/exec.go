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

// execGrace is what a call may take beside its command.
const execGrace = time.Minute

// Exec runs the command until it ends, until its timeout, until the sandbox's
// own end or until the sandbox is destroyed, whichever is first. Everything it
// started is gone then. A command that had a network which was cut off
// meanwhile is ended too, and that is ErrConflict.
func (h *host) Exec(ctx context.Context, ref sandbox.Ref, cmd backend.Command) (backend.Result, error) {
	var result backend.Result
	err := backend.CheckCommand(cmd)
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
	rec, online, err := st.connect(ctx, rec)
	if err != nil {
		return backend.Result{}, err
	}
	if online != nil {
		defer online.Close()
	}
	room, err := st.room(rec, filepath.Join(h.dir, sandboxesDir, rec.Handle, workDir))
	if err != nil {
		return backend.Result{}, err
	}

	if err := st.unlockWork(rec); err != nil {
		return backend.Result{}, err
	}

	limit := cmp.Or(cmd.MaxOutput, backend.DefaultMaxOutput)
	stdout, stderr := &backend.Tail{Limit: limit}, &backend.Tail{Limit: limit}
	room.Argv, room.Dir, room.Env = cmd.Argv, commandDir(rec.Workdir, cmd.Dir), merged(rec.Env, cmd.Env)
	room.Stdin, room.Stdout, room.Stderr = cmd.Stdin, stdout, stderr
	process, err := e.Start(room)
	if err != nil {
		return backend.Result{}, classified(err)
	}
	watched := h.watch(ctx, st, rec, process, cmd.Timeout)
	switch watched.cause {
	case gaveUp:
		return backend.Result{}, context.Cause(ctx)
	case cutOff:
		return backend.Result{}, fmt.Errorf("%w: the command was ended, because the sandbox's network was blocked while it ran", backend.ErrConflict)
	}
	result := backend.Result{AppliedTimeout: watched.timeout}
	if err := watched.report(&result); err != nil {
		return backend.Result{}, classified(err)
	}
	result.Terminated = watched.cause == destroyed || watched.cause == timedOut && watched.timeout < cmd.Timeout
	result.Stdout, result.StdoutTruncated = stdout.Kept()
	result.Stderr, result.StderrTruncated = stderr.Kept()
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

// unlockWork opens the workdir to who runs commands in it: one of them may have
// closed it to everybody, and no other could ever begin there.
func (st *state) unlockWork(rec record) error {
	return st.unlock(sandboxesDir + "/" + rec.Handle + "/" + workDir)
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

// connect takes part in the sandbox's network, where that is open: until the file
// it returns is closed, nobody takes it for cut off.
func (st *state) connect(ctx context.Context, rec record) (record, *os.File, error) {
	if !rec.OpenNetwork {
		return rec, nil, nil
	}
	dir, err := st.openSandbox(rec.sandbox().Ref)
	if err != nil {
		return record{}, nil, err
	}
	defer dir.Close()
	lock, err := dir.lock(ctx, openLock, shared)
	if err != nil {
		return record{}, nil, err
	}
	// What was true before the lock may not be now.
	if rec, err = st.find(rec.sandbox().Ref); err == nil && rec.OpenNetwork {
		return rec, lock, nil
	}
	lock.Close()
	return rec, nil, err
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
