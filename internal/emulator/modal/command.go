// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
)

// The exit codes that a shell gives a program it cannot run.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
)

const sigkill = 9

// retention is how long the output of a command can be read after its end.
const retention = 10 * time.Minute

// command is one command in a sandbox.
type command struct {
	box            *sandbox
	id             string
	stdin          *inlet
	stdout, stderr *spool
	helper         *helper // set when the file tool is meant

	killed   chan struct{} // closed when it has to end
	killOnce sync.Once
	over     chan struct{} // closed when it and all that it started are gone
	reported chan struct{} // closed when its end may be told

	// The end, readable once over is closed.
	code    int
	signal  int
	problem error // why it was never run
}

// newCommand prepares a command whose output streams are kept or thrown away.
func newCommand(box *sandbox, id string, keepStdout, keepStderr, merge bool) *command {
	cmd := &command{
		box: box, id: id, stdin: newInlet(),
		killed: make(chan struct{}), over: make(chan struct{}), reported: make(chan struct{}),
	}
	cmd.stdout, cmd.stderr = newSpool(keepStdout), newSpool(keepStderr)
	if merge {
		cmd.stderr = cmd.stdout
	}
	return cmd
}

// kill ends the command, now or as soon as it has begun.
func (c *command) kill() { c.killOnce.Do(func() { close(c.killed) }) }

// fail ends a command that was never run.
func (c *command) fail(err error) {
	c.problem, c.code = err, -1
	c.stdin.end()
	close(c.over)
	c.report()
}

// report lets everybody know of the end.
func (c *command) report() {
	c.stdout.close()
	c.stderr.close()
	close(c.reported)
}

// run starts the command and returns when its end may be told. A timeout of 0
// is none.
func (c *command) run(s *Server, spec engine.Spec, timeout time.Duration) {
	e, err := s.engine()
	if err != nil {
		c.fail(err)
		return
	}
	spec.Stdin, spec.Stdout, spec.Stderr = c.stdin, c.stdout, c.stderr
	if c.helper != nil {
		c.helper.capture(&spec)
	}
	process, err := e.Start(spec)
	if err != nil {
		c.fail(err)
		return
	}
	late := c.watch(process, timeout)
	c.stdin.end()
	close(c.over)
	if delay := s.opts.DeadlineReportDelay; late && delay > 0 {
		wait := time.NewTimer(delay)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-s.stopped.Done():
		}
	}
	c.report()
}

// watch waits for the end of the process and brings it about in time; late means
// that the timeout was over.
func (c *command) watch(process *engine.Process, timeout time.Duration) (late bool) {
	ended := make(chan func(), 1)
	go func() {
		exit, err := process.Wait()
		ended <- func() { c.conclude(exit, err) }
	}()
	var deadline <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		deadline = timer.C
	}
	select {
	case conclude := <-ended:
		conclude()
		return false
	case <-deadline:
		late = true
	case <-c.killed:
	}
	c.stdout.discard()
	c.stderr.discard()
	process.Kill()
	(<-ended)()
	return late
}

func (c *command) conclude(exit engine.Exit, err error) {
	switch {
	case errors.Is(err, engine.ErrProgram):
		c.code = exitNotExecutable
		if errors.Is(err, fs.ErrNotExist) {
			c.code = exitNotFound
		}
	case errors.Is(err, engine.ErrNotRun):
		c.code, c.problem = -1, err
	case exit.Killed:
		c.signal = sigkill
		return
	default:
		c.code = exit.Code
	}
	if c.helper != nil {
		c.code = c.helper.conclude(c.code, c.stdout, c.stderr)
	}
}

// exitCode is the end as a shell would tell it.
func (c *command) exitCode() int {
	switch {
	case c.signal != 0:
		return 128 + c.signal
	case c.problem != nil:
		return exitNotExecutable
	}
	return c.code
}
