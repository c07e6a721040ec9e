// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modal-labs/modal-client/go"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// execGrace is what a call may take beside its command: the way there, the
// report, the rest of the output.
const execGrace = 2 * time.Minute

// Exec runs the command until it ends, until its timeout or until the sandbox
// ends. Modal has no call that ends a command: one that is given up runs on until
// its timeout.
func (a *app) Exec(ctx context.Context, ref sandbox.Ref, cmd backend.Command) (backend.Result, error) {
	result, err := a.exec(ctx, ref, cmd)
	if err != nil {
		return backend.Result{}, a.failed("run a command in sandbox", ref.Handle, err)
	}
	return result, nil
}

func (a *app) exec(ctx context.Context, ref sandbox.Ref, cmd backend.Command) (backend.Result, error) {
	if err := checkCommand(cmd); err != nil {
		return backend.Result{}, err
	}
	s, h, err := a.use(ctx, ref)
	if err != nil {
		return backend.Result{}, err
	}
	timeout, err := s.within(ctx, h, cmd.Timeout)
	if err != nil {
		return backend.Result{}, err
	}
	limit := cmp.Or(cmd.MaxOutput, backend.DefaultMaxOutput)
	stdout, stderr := &backend.Tail{Limit: limit}, &backend.Tail{Limit: limit}
	ended, err := s.execute(ctx, h, "Exec", execution{
		argv: cmd.Argv, dir: cmd.Dir, env: cmd.Env, timeout: timeout,
		stdin: cmd.Stdin, stdout: stdout, stderr: stderr,
	})
	if err != nil {
		return backend.Result{}, err
	}
	result := backend.Result{ExitCode: ended.code, TimedOut: ended.timedOut, Terminated: ended.terminated, AppliedTimeout: timeout}
	if ended.timedOut {
		result.ExitCode = -1
	}
	result.Stdout, result.StdoutTruncated = stdout.Kept()
	result.Stderr, result.StderrTruncated = stderr.Kept()
	return result, nil
}

func checkCommand(cmd backend.Command) error {
	if err := backend.CheckCommand(cmd); err != nil {
		return err
	}
	switch {
	case cmd.Argv[0] == "":
		return fmt.Errorf("%w: the command's name is empty", backend.ErrInvalid)
	case cmd.Dir != "" && !path.IsAbs(cmd.Dir):
		return fmt.Errorf("%w: the directory %q is not absolute", backend.ErrInvalid, cmd.Dir)
	case !utf8.ValidString(cmd.Dir):
		return fmt.Errorf("%w: the directory is not UTF-8", backend.ErrInvalid)
	}
	if err := checkEnv(cmd.Env); err != nil {
		return fmt.Errorf("%w environment: %w", backend.ErrInvalid, err)
	}
	return nil
}

// within shortens a timeout to what the sandbox has left, in the whole seconds
// that Modal counts.
func (s *session) within(ctx context.Context, h *sdk.Sandbox, timeout time.Duration) (time.Duration, error) {
	ends := s.memory.of(h.SandboxID).ends
	if ends.IsZero() {
		found, err := s.get(ctx, h)
		if err != nil {
			return 0, err
		}
		ends = found.ServerEnds
	}
	if left := ends.Sub(s.clock.Now()); !ends.IsZero() && left > 0 { // whether it is over is Modal's to say, not our clock's
		timeout = min(timeout, left)
	}
	return seconds(min(timeout, lifetimeMax)), nil
}

// execute is one call of the Caller around all that the client does for one
// command, since its connection to the command router is its own.
func (s *session) execute(ctx context.Context, h *sdk.Sandbox, verb string, e execution) (ending, error) {
	defer func() { _ = h.Detach() }()
	var ended ending
	call := backend.Call{Verb: verb, Deadline: e.timeout + execGrace}
	err := s.caller.Do(ctx, call, func(ctx context.Context) error {
		var err error
		ended, err = s.run(ctx, h, e)
		return s.explain(ctx, h, err)
	})
	return ended, err
}

// explain gives an error of the command router its class. That the sandbox is
// gone is believed only of the witness: the router says NOT_FOUND, and the client
// "conflict" or "unavailable", for more than one reason.
func (s *session) explain(ctx context.Context, h *sdk.Sandbox, err error) error {
	err = classed(err)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(err, backend.ErrNotFound), errors.Is(err, backend.ErrConflict), !hasClass(err):
		gone, doubt := s.gone(ctx, h.SandboxID, "")
		switch {
		case doubt != nil:
			return fmt.Errorf("%w (%v)", doubt, err)
		case gone:
			return fmt.Errorf("%w: it has ended (%v)", backend.ErrNotFound, err)
		case hasClass(err):
			return fmt.Errorf("%w: the sandbox is there, but not its command router: %v", backend.ErrUnavailable, err)
		}
	}
	return err
}

// portable returns argv as the wire can carry it: a string of the protocol is
// UTF-8, an argument is any bytes. Where one is not UTF-8, a shell inside makes
// it from octal digits; the x keeps it from dropping newlines at the end.
func portable(argv []string) []string {
	valid := true
	for _, arg := range argv {
		valid = valid && utf8.ValidString(arg)
	}
	if valid {
		return argv
	}
	var script strings.Builder
	script.WriteString("set --\n")
	for _, arg := range argv {
		script.WriteString("x=$(printf '")
		for i := range len(arg) {
			fmt.Fprintf(&script, `\%03o`, arg[i])
		}
		script.WriteString("x')\nset -- \"$@\" \"${x%x}\"\n")
	}
	script.WriteString(`exec "$@"`)
	return []string{"sh", "-c", script.String()}
}
