// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

const aboutFaults = "make a call go wrong as `FAULT` says, see above; may be repeated"

// faults is a flag for what goes wrong.
type faults []fault

type fault struct {
	method string
	modal.Fault
}

func (f *faults) String() string { return "" }

func (f *faults) Type() string { return "fault" }

func (f *faults) Set(text string) error {
	method, rest, _ := strings.Cut(text, "=")
	code, options, _ := strings.Cut(rest, ",")
	made := fault{method: method}
	if method == "" || code == "" {
		return fmt.Errorf("%q is not METHOD=CODE", text)
	}
	if err := made.Code.UnmarshalJSON([]byte(strconv.Quote(code))); err != nil {
		return fmt.Errorf("%q is no gRPC code, such as UNAVAILABLE", code)
	}
	for option := range strings.SplitSeq(options, ",") {
		if err := made.set(option); err != nil {
			return err
		}
	}
	*f = append(*f, made)
	return nil
}

func (f *fault) set(option string) (err error) {
	name, value, _ := strings.Cut(option, "=")
	switch name {
	case "":
	case "after":
		f.After = true
	case "skip":
		f.Skip, err = strconv.Atoi(value)
	case "times":
		f.Times, err = strconv.Atoi(value)
	case "delay":
		f.Delay, err = time.ParseDuration(value)
	case "retry-after":
		f.RetryAfter, err = time.ParseDuration(value)
	default:
		err = fmt.Errorf("a fault has no option %q", name)
	}
	return err
}
