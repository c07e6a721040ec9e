// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// Process is one started command.
type Process struct {
	cmd     *exec.Cmd
	streams *streams
	status  *os.File // what bubblewrap reports; it fits into the pipe
	wait    func() (Exit, error)
}

// Start starts the command of spec. It returns as soon as bubblewrap is
// running, which is before the command is. The caller must call Wait: until
// then nothing is cleaned up. Every descriptor of this process beyond standard
// error becomes close-on-exec.
func (e *Engine) Start(spec Spec) (*Process, error) {
	l, err := e.prepare(spec)
	if err != nil {
		return nil, err
	}
	return l.start(spec.Stdin, spec.Stdout, spec.Stderr)
}

// Check says why Start would refuse spec, or nil. It starts nothing.
func (e *Engine) Check(spec Spec) error {
	_, err := e.prepare(spec)
	return err
}

func (e *Engine) prepare(spec Spec) (*launch, error) {
	spec, err := spec.complete(os.Geteuid(), os.Getegid())
	if err != nil {
		return nil, err
	}
	return e.plan(spec)
}

func (l *launch) start(stdin io.Reader, stdout, stderr io.Writer) (*Process, error) {
	p := &Process{cmd: l.command()}
	p.wait = sync.OnceValues(p.finish)
	status, statusWriter, err := os.Pipe()
	if err != nil {
		return nil, explainStart(err)
	}
	p.status = status
	files, err := l.files(statusWriter)
	if err != nil {
		closeAll([]*os.File{status, statusWriter})
		return nil, explainStart(err)
	}
	defer closeAll(files)
	p.cmd.ExtraFiles = files
	if p.streams, err = openStreams(p.cmd, same(stdout, stderr)); err != nil {
		_ = status.Close()
		return nil, explainStart(err)
	}
	err = l.begin(func() error {
		if err := l.seal(); err != nil {
			return err
		}
		return p.cmd.Start()
	})
	p.streams.closeInner()
	if err != nil {
		p.streams.closeOuter()
		_ = status.Close()
		return nil, explainStart(err)
	}
	p.streams.copy(stdin, stdout, stderr)
	return p, nil
}

// readStatus reads bubblewrap's report, a few JSON documents, until bubblewrap
// is gone. An exit code in it means that the command was executed and ended.
func readStatus(r io.ReadCloser) (code *int) {
	defer func() { _ = r.Close() }()
	for documents := json.NewDecoder(r); ; {
		var report struct {
			ExitCode *int `json:"exit-code"`
		}
		if err := documents.Decode(&report); err != nil {
			return code
		}
		if report.ExitCode != nil {
			code = report.ExitCode
		}
	}
}

// Wait waits until the command and everything it started is gone, and its
// output is taken; a writer that holds on for more than five seconds after the
// end is given up. It may be called more than once.
//
// A nil error means that the command ran, and Exit tells how it ended. So does
// ErrStream. ErrNotRun means that it never ran.
func (p *Process) Wait() (Exit, error) { return p.wait() }

func (p *Process) finish() (Exit, error) {
	err := p.cmd.Wait()
	streamErr := p.streams.finish()
	code := readStatus(p.status)
	var ended *exec.ExitError
	switch {
	case code != nil:
		return Exit{Code: *code}, streamErr
	case err != nil && !errors.As(err, &ended):
		return Exit{Code: -1}, fmt.Errorf("wait for bubblewrap: %w", err)
	case ended != nil && ended.ExitCode() == -1: // a signal
		return Exit{Code: -1, Killed: true}, streamErr
	}
	words := strings.TrimSpace(p.streams.words.String())
	if words == "" {
		words = fmt.Sprintf("bubblewrap ended without a word (%s)", p.cmd.ProcessState)
	}
	return Exit{Code: -1}, notRun{words}
}

// notRun is an ErrNotRun with bubblewrap's words. They are always English: its
// environment names no other language.
type notRun struct{ words string }

func (e notRun) Error() string { return ErrNotRun.Error() + ": " + e.words }

// Is makes errors.Is find the classes.
func (e notRun) Is(class error) bool {
	program := strings.HasPrefix(e.words, "bwrap: execvp ")
	switch class {
	case ErrNotRun:
		return true
	case ErrProgram:
		return program
	case fs.ErrNotExist:
		return program && strings.HasSuffix(e.words, ": No such file or directory")
	}
	return false
}

// Kill ends the command and everything it started; it is over when Wait
// returns. It may be called at any time, from any goroutine, any number of
// times.
func (p *Process) Kill() { _ = p.cmd.Process.Kill() } // an error is "it has ended already"
