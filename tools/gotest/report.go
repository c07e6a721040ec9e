// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

type options struct {
	skipList string
	lenient  bool
	figures  bool
	tally    string
}

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
}

func (e event) name() string { return e.Package + "." + e.Test }

// report follows one run of go test.
type report struct {
	options
	out     io.Writer
	allowed map[string]string   // PACKAGE.TEST to reason
	output  map[string][]string // of tests, and of packages, that have not ended
	parents map[string]bool     // tests that have subtests: their children are counted

	passed, failed int
	skipped        []string
	unexpected     []string // skips that nobody allowed
	short          []string // figures that fall short
}

func newReport(out io.Writer, options options) (*report, error) {
	r := &report{
		options: options, out: out,
		allowed: make(map[string]string),
		output:  make(map[string][]string),
		parents: make(map[string]bool),
	}
	if options.skipList == "" {
		return r, nil
	}
	list, err := os.ReadFile(options.skipList)
	if err != nil {
		return nil, fmt.Errorf("read the allowed skips: %w", err)
	}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if reason == "" {
			return nil, fmt.Errorf("%s: %s is allowed without a reason", options.skipList, name)
		}
		r.allowed[name] = strings.TrimSpace(reason)
	}
	return r, nil
}

// read takes in every event. Lines that are none come from go itself, and are
// passed on.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				r.take(e)
			} else {
				fmt.Fprintf(r.out, "%s", line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the events of go test: %w", err)
		}
	}
}

func (r *report) take(e event) {
	switch e.Action {
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
			r.parents[e.Package+"."+e.Test[:i]] = true
		}
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "output":
		r.takeOutput(e)
	case "pass":
		r.end(e, &r.passed)
	case "fail":
		r.printFailure(e)
		r.end(e, &r.failed)
	case "skip":
		if e.Test != "" {
			r.takeSkip(e)
		}
	}
}

func (r *report) takeOutput(e event) {
	line := e.Output
	if figure := strings.TrimSpace(line); r.figures && strings.HasPrefix(figure, "figure=") {
		fmt.Fprintln(r.out, figure)
		if strings.Contains(figure, "verdict=short") {
			r.short = append(r.short, figure)
		}
		return
	}
	closing := strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t")
	switch {
	case e.Test == "" && closing:
		if !r.figures || line[0] == 'F' {
			fmt.Fprint(r.out, line)
		}
	case strings.HasPrefix(line, "=== "):
	default:
		r.output[e.name()] = append(r.output[e.name()], line)
	}
}

// end counts a test that has no subtests and lets go of its output.
func (r *report) end(e event, count *int) {
	if e.Test != "" && !r.parents[e.name()] {
		*count++
	}
	delete(r.output, e.name())
}

// printFailure shows what a failed test, or everything unfinished of a failed
// package, has printed.
func (r *report) printFailure(e event) {
	names := []string{e.name()}
	if e.Test == "" {
		names = slices.Sorted(maps.Keys(r.output))
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, e.Package+".") })
	}
	for _, name := range names {
		if text := strings.Join(r.output[name], ""); text != "" && text != "FAIL\n" {
			fmt.Fprintf(r.out, "--- %s\n%s", name, text)
		}
		delete(r.output, name)
	}
}

func (r *report) takeSkip(e event) {
	why := strings.TrimSpace(strings.Join(slices.DeleteFunc(r.output[e.name()], func(line string) bool {
		return strings.Contains(line, "--- SKIP: ")
	}), ""))
	delete(r.output, e.name())
	r.skipped = append(r.skipped, e.name())
	reason, allowed := r.allowance(e.name())
	switch {
	case allowed:
		fmt.Fprintf(r.out, "skipped\t%s: %s (allowed: %s)\n", e.name(), why, reason)
	default:
		fmt.Fprintf(r.out, "skipped\t%s: %s\n", e.name(), why)
		r.unexpected = append(r.unexpected, e.name())
	}
}

// allowance finds the reason why name, or a test above it, may be skipped. In
// the list * stands for any run of characters but "/".
func (r *report) allowance(name string) (reason string, allowed bool) {
	for pattern, reason := range r.allowed {
		if within(strings.Split(pattern, "/"), strings.Split(name, "/")) {
			return reason, true
		}
	}
	return "", false
}

// within reports whether the patterns match some run of parts, one by one.
func within(patterns, parts []string) bool {
	for ; len(parts) >= len(patterns); parts = parts[1:] {
		matched := true
		for i, pattern := range patterns {
			ok, err := path.Match(pattern, parts[i])
			matched = matched && ok && err == nil
		}
		if matched {
			return true
		}
	}
	return false
}

// finish sums up, and returns why the run is not a success.
func (r *report) finish(goTest, read error) error {
	summary := fmt.Sprintf("%d passed, %d failed", r.passed, r.failed)
	if len(r.skipped) > 0 {
		summary += fmt.Sprintf(", %d skipped", len(r.skipped))
	}
	if !r.figures {
		fmt.Fprintln(r.out, summary)
	}
	errs := []error{read, r.record()}
	if goTest != nil {
		errs = append(errs, fmt.Errorf("go test: %w", goTest))
	}
	if len(r.unexpected) > 0 && !r.lenient {
		errs = append(errs, fmt.Errorf("skipped without being allowed to (see %s): %s", r.skipList, strings.Join(r.unexpected, ", ")))
	}
	if len(r.short) > 0 {
		errs = append(errs, fmt.Errorf("%d figures fall short", len(r.short)))
	}
	if r.passed+r.failed == 0 {
		errs = append(errs, errors.New("no test ran"))
	}
	return errors.Join(errs...)
}

func (r *report) record() error {
	if r.tally == "" {
		return nil
	}
	f, err := os.OpenFile(r.tally, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("record the tally: %w", err)
	}
	_, err = fmt.Fprintf(f, "%d %d %d\n", r.passed, r.failed, len(r.skipped))
	return errors.Join(err, f.Close())
}
