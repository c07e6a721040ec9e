// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package engine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"time"
)

// streamGrace is how long the rest of the output may take once the last process
// is gone. It is never needed, except by a writer that is stuck, and when a
// command handed its output to a process outside through a socket in Work.
const streamGrace = 5 * time.Second

// streams carry a command's standard input and outputs. They are always pipes:
// a file of the host would show its path in /proc inside, and could be reopened
// from there.
type streams struct {
	stdin  *os.File   // our end
	output []*os.File // our ends: standard output and error, or one for both
	inner  []*os.File // the command's ends

	fed    chan error // how the input ended
	copied chan error // how each output ended
	grace  time.Duration
	words  firstWords // of standard error
}

// openStreams makes the pipes and gives cmd its ends. together means that one
// pipe takes both outputs, so that their order is kept.
func openStreams(cmd *exec.Cmd, together bool) (*streams, error) {
	s := &streams{fed: make(chan error, 1), copied: make(chan error, 2), grace: streamGrace}
	err := s.openInput(cmd)
	if err == nil {
		cmd.Stdout, err = s.openOutput()
	}
	cmd.Stderr = cmd.Stdout
	if err == nil && !together {
		cmd.Stderr, err = s.openOutput()
	}
	if err != nil {
		s.closeInner()
		s.closeOuter()
		return nil, err
	}
	return s, nil
}

func (s *streams) openInput(cmd *exec.Cmd) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.stdin, s.inner, cmd.Stdin = w, append(s.inner, r), r
	return nil
}

func (s *streams) openOutput() (io.Writer, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.output, s.inner = append(s.output, r), append(s.inner, w)
	return w, nil
}

func (s *streams) closeInner() { closeAll(s.inner) }

func (s *streams) closeOuter() {
	_ = s.stdin.Close() // of a nil file this is an error, and no harm
	closeAll(s.output)
}

// copy begins to carry.
func (s *streams) copy(stdin io.Reader, stdout, stderr io.Writer) {
	if stdin == nil {
		_ = s.stdin.Close()
	} else {
		go s.feed(stdin)
	}
	if len(s.output) == 1 {
		go s.drain("standard output", s.output[0], &s.words, stdout)
		return
	}
	go s.drain("standard output", s.output[0], io.Discard, stdout)
	go s.drain("standard error", s.output[1], &s.words, stderr)
}

// feed says how the input ended before it ends it for the command, which must
// not take half of an input for the whole unnoticed.
func (s *streams) feed(r io.Reader) {
	from := &source{Reader: r}
	_, _ = io.Copy(s.stdin, from) // the command need not read all that is there
	if from.err != nil {
		s.fed <- fmt.Errorf("%w: read standard input: %w", ErrStream, from.err)
	}
	_ = s.stdin.Close()
}

// source remembers how reading failed, apart from how writing did.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// drain copies one output. When w fails, the command gets SIGPIPE.
func (s *streams) drain(name string, r *os.File, words, w io.Writer) {
	if w == nil {
		w = io.Discard
	}
	_, err := io.Copy(io.MultiWriter(words, w), r)
	_ = r.Close()
	if err != nil {
		err = fmt.Errorf("%w: write %s: %w", ErrStream, name, err)
	}
	s.copied <- err
}

// finish is called when all processes are gone, and returns what went wrong.
func (s *streams) finish() error {
	defer s.closeOuter()
	timer := time.NewTimer(s.grace)
	defer timer.Stop()
	var errs []error
	select {
	case err := <-s.fed:
		errs = append(errs, err)
	default:
	}
	for range s.output {
		select {
		case err := <-s.copied:
			errs = append(errs, err)
		case <-timer.C:
			return fmt.Errorf("%w: the output was not taken within %s after the command's end", ErrStream, s.grace)
		}
	}
	return errors.Join(errs...)
}

// same reports whether a and b are one writer, as far as that can be told.
func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// firstWords keeps the beginning of what is written to it, safe for use by
// several goroutines.
type firstWords struct {
	mu   sync.Mutex
	kept []byte
}

const maxKept = 2048 // bytes

func (f *firstWords) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = append(f.kept, p[:min(len(p), maxKept-len(f.kept))]...)
	return len(p), nil
}

func (f *firstWords) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.kept)
}
