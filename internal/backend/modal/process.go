// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

const (
	// startWithin bounds the start of a command: a router that takes calls and
	// answers none, which has been seen after a restore, is told of within seconds.
	startWithin = 30 * time.Second
	// reportWithin is how long after its deadline the end of a command is waited
	// for; the kill takes up to a second (measured).
	reportWithin = 15 * time.Second
	// drainQuiet is how long a stream may be silent after the end of its command
	// before it is given up: a process that was left behind may hold it open.
	drainQuiet = 2 * time.Second

	stdinChunk = 256 << 10 // bytes of one write

	killed = 128 + 9
)

// execution is one command of ours.
type execution struct {
	argv           []string
	dir            string
	env            map[string]string
	timeout        time.Duration // whole seconds
	stdin          io.Reader
	stdout, stderr io.Writer
}

// ending is how a command ended.
type ending struct {
	code       int // of a shell: 128+n after signal n
	timedOut   bool
	terminated bool // the sandbox ended
	whole      bool // its output was read to the end
}

// run starts the command, feeds it, reads it and waits for its end, all at once:
// a wait that is begun after the deadline reports a timeout whatever has happened
// (measured), and a reader that is first used then has nothing to read.
func (s *session) run(ctx context.Context, h *sdk.Sandbox, e execution) (ending, error) {
	begun := s.clock.Now()
	process, err := s.start(ctx, h, e)
	if err != nil {
		return ending{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go feed(process.Stdin, e.stdin, stop)
	stdout, stderr := drain(process.Stdout, e.stdout), drain(process.Stderr, e.stderr)
	defer stdout.close()
	defer stderr.close()

	end, err := waitFor(ctx, process, e.timeout)
	took := s.clock.Now().Sub(begun)
	if ctx.Err() != nil {
		return ending{}, context.Cause(ctx)
	}
	end.timedOut = end.timedOut || end.code == killed && took >= e.timeout
	if err == nil {
		end.whole, err = bothWhole(ctx, stdout, stderr, end.timedOut)
	}
	if err != nil || end.timedOut || end.code >= 128 {
		// A sandbox that ends takes its commands along without a word.
		if gone, doubt := s.gone(ctx, h.SandboxID, ""); doubt == nil && gone {
			end.terminated, err = true, nil
			if end.code == 0 {
				end.code = killed
			}
		}
	}
	return end, unfinished(err)
}

// start starts the command, or gives it up. The client would try for as long as
// the context lasts, which must outlive the start.
func (s *session) start(ctx context.Context, h *sdk.Sandbox, e execution) (*sdk.ContainerProcess, error) {
	starting, giveUp := context.WithCancel(ctx)
	late := time.AfterFunc(s.startWithin, giveUp)
	process, err := h.Exec(starting, portable(e.argv), &sdk.SandboxExecParams{Workdir: e.dir, Env: e.env, Timeout: e.timeout})
	if inTime := late.Stop(); err != nil && !inTime && ctx.Err() == nil {
		err = fmt.Errorf("%w: the command router did not answer within %s, so the command may have been started: %v", backend.ErrUnknownOutcome, s.startWithin, err)
	}
	return process, err
}

// unfinished is the error of a command that was started and whose end, or whose
// output, did not arrive.
func unfinished(err error) error {
	if err = classed(err); err == nil || hasClass(err) && !errors.Is(err, backend.ErrUnavailable) && !errors.Is(err, backend.ErrNotFound) {
		return err
	}
	return fmt.Errorf("%w: the command was started, and its end is not known: %v", backend.ErrUnknownOutcome, err)
}

// waitFor waits for the end of the process, and a little longer than the server
// should need to bring it about.
func waitFor(ctx context.Context, process *sdk.ContainerProcess, timeout time.Duration) (ending, error) {
	waiting, cancel := context.WithTimeout(ctx, timeout+reportWithin)
	defer cancel()
	code, err := process.Wait(waiting, nil)
	if is[sdk.ExecTimeoutError](err) || err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return ending{code: killed, timedOut: true}, nil
	}
	return ending{code: code}, err
}

// feed writes the standard input and closes it. What goes wrong on our side, or
// on the way, must not look like the end of the input to the command, nor leave it
// waiting for that until its timeout. Where there is no input, it may not care.
func feed(stdin io.WriteCloser, from io.Reader, stop context.CancelCauseFunc) {
	if from == nil {
		_ = stdin.Close()
		return
	}
	in := &remembering{Reader: from}
	_, err := io.CopyBuffer(struct{ io.Writer }{stdin}, in, make([]byte, stdinChunk))
	if in.err != nil {
		stop(fmt.Errorf("read the standard input: %w", in.err))
		return
	}
	if err == nil || closedInput[status.Code(err)] {
		err = stdin.Close()
	}
	if err != nil && !closedInput[status.Code(err)] {
		stop(fmt.Errorf("%w: the command was started, and its input was lost on the way: %v", backend.ErrUnknownOutcome, err))
	}
}

// closedInput are the answers to input for a command that has closed it, or has
// ended, which is its own business.
var closedInput = map[codes.Code]bool{codes.FailedPrecondition: true, codes.NotFound: true, codes.InvalidArgument: true, codes.OutOfRange: true}

// remembering keeps the error that ended a reader early.
type remembering struct {
	io.Reader
	err error
}

func (r *remembering) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
