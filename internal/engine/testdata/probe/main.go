// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Probe is the attacker of the engine's tests: it tries one thing from inside
// and says whether it came through.
package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// How an attack ends; anything else is a mistake of the probe.
const (
	through = 0
	stopped = 3
)

var attacks = map[string]func(args []string) error{
	"dial":        dial,
	"interfaces":  interfaces,
	"resolve":     resolve,
	"socket":      socket,
	"open":        openForWriting,
	"create":      create,
	"readonly":    writableMount,
	"chmod":       chmodSame,
	"see":         see,
	"grep":        grep,
	"descriptors": descriptors,
	"processes":   strongProcess,
	"mounts":      strongMount,
	"count":       foreignProcess,
	"call":        call,
	"smuggle":     smuggle,
	"tree":        tree,
	"linger":      linger,
}

func main() {
	if len(os.Args) < 2 || attacks[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: probe ATTACK [ARGUMENT...]")
		os.Exit(2)
	}
	err := attacks[os.Args[1]](os.Args[2:])
	var refused refusal
	switch {
	case err == nil:
		os.Exit(through)
	case errors.As(err, &refused):
		fmt.Println(err)
		os.Exit(stopped)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}

// refusal is how the sandbox stopped an attack.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// refused makes a refusal of an error of the system; nil stays nil.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return refusal{err}
}

func refusedf(format string, args ...any) error { return refusal{fmt.Errorf(format, args...)} }

func outcome(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return refusedf("%w (errno %d)", errno, int(errno))
}
