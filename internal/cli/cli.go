// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package cli is the dialect that the command-line programs share, so that who
// knows one knows the other: exit statuses and signals, how a person is asked,
// how errors, ages and versions are written. ARCHITECTURE.md shows it in a table.
package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// The exit statuses that mean the same in every program; 0 is done.
const (
	ExitBug         = 1
	ExitFailed      = 2 // not all that was to be done is done
	ExitUsage       = 4 // usage, configuration or state
	ExitUnreachable = 5 // the place cannot be read
	ExitNotFound    = 6 // there is nothing of that name
)

// WriteJSON writes v as one indented JSON document.
func WriteJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// Failure is an error on its way to a person, or to a program that reads JSON.
type Failure struct {
	Message    string `json:"message"`
	Class      string `json:"class"` // one word, for programs
	Connection string `json:"connection,omitempty"`
	Handle     string `json:"handle,omitempty"`
	Next       string `json:"next,omitempty"` // what to do about it
}

// Print writes the failure to standard error: as text, or as {"error": {...}} in
// one line, for a log may stand there, too.
func (f Failure) Print(w io.Writer, program string, asJSON bool) {
	if asJSON {
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(map[string]Failure{"error": f}) // nobody is left to tell
		return
	}
	fmt.Fprintf(w, "%s: %s\n", program, f.Message)
	if f.Next != "" {
		fmt.Fprintf(w, "  next: %s\n", f.Next)
	}
}

// AsksForJSON reports whether args say -o json, for an error that came before
// all of them were read.
func AsksForJSON(args []string) bool {
	for i, arg := range args {
		switch arg {
		case "--":
			return false
		case "-o=json", "-ojson", "--output=json":
			return true
		case "-o", "--output":
			return i+1 < len(args) && args[i+1] == "json"
		}
	}
	return false
}

var units = []struct {
	size time.Duration
	name string
}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}

// Age writes a duration in its two largest units, rounded down: "2d3h", "1h",
// "12m5s". A negative one is "0s".
func Age(d time.Duration) string {
	for i, unit := range units[:len(units)-1] {
		if d < unit.size {
			continue
		}
		text := fmt.Sprintf("%d%s", d/unit.size, unit.name)
		if next := units[i+1]; d%unit.size >= next.size {
			text += fmt.Sprintf("%d%s", d%unit.size/next.size, next.name)
		}
		return text
	}
	return fmt.Sprintf("%ds", max(d, 0)/time.Second)
}
