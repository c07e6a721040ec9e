// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backend

import (
	"fmt"
	"io"
	"time"
)

// Command is one command line to run inside, with Airflow's bounds.
type Command struct {
	Argv      []string // required; the first element is looked up in PATH
	Dir       string   // empty: the sandbox's workdir
	Env       map[string]string
	Stdin     io.Reader
	Timeout   time.Duration // required; the whole process tree is gone after it
	MaxOutput int           // bytes kept of each stream, the tail; 0: DefaultMaxOutput
}

const (
	// DefaultMaxOutput is Airflow's bound for one output stream, in bytes
	// (toolsets/sandbox.py of common-ai 1.0.0).
	DefaultMaxOutput = 50 * 1024
	// OutputLimit is the largest MaxOutput: it is held in memory.
	OutputLimit = 256 << 20
)

// CheckCommand refuses, as ErrInvalid, what no backend runs. A backend may refuse
// more.
func CheckCommand(cmd Command) error {
	switch {
	case len(cmd.Argv) == 0:
		return fmt.Errorf("%w: the command is empty", ErrInvalid)
	case cmd.Timeout <= 0:
		return fmt.Errorf("%w: the command needs a timeout", ErrInvalid)
	case cmd.MaxOutput < 0, cmd.MaxOutput > OutputLimit:
		return fmt.Errorf("%w: %d bytes of output cannot be kept; at most %d of each stream are, so write more to a file",
			ErrInvalid, cmd.MaxOutput, OutputLimit)
	}
	return nil
}

// Result is the end of a Command. A command that ran and failed is a Result,
// not an error.
type Result struct {
	ExitCode        int // 127: no such program; 128+n: signal n; -1: the deadline ended it
	Stdout, Stderr  []byte
	StdoutTruncated bool // the beginning was dropped
	StderrTruncated bool
	TimedOut        bool
	Terminated      bool          // the sandbox itself ended
	AppliedTimeout  time.Duration // shortened when the sandbox ends earlier
}
