// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agext/levenshtein"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

const (
	aboutFaults  = "make a call go wrong as `FAULT` says, see above; may be repeated"
	faultOptions = "after, stall, delay=D, retry-after=D, keep=N, skip=N, times=N, message=TEXT"
)

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
	answer, options, more := strings.Cut(rest, ",")
	if method == "" || answer == "" {
		return fmt.Errorf("a fault is METHOD=CODE[,OPTION...]; the options are %s", faultOptions)
	}
	made := fault{method: method}
	if known := modal.Methods(); !slices.Contains(known, method) {
		return fmt.Errorf("no method %q in Modal's protocol; is it %s?", method, nearest(known, method))
	}
	number, ok := code.Code_value[answer]
	if !ok {
		return fmt.Errorf("%q is no gRPC code; these are: %s", answer, strings.Join(codeNames(), ", "))
	}
	made.Code = codes.Code(number)
	for more {
		var option string
		option, options, more = cutOption(options)
		if err := made.set(option); err != nil {
			return err
		}
	}
	if err := made.unseen(); err != nil {
		return err
	}
	*f = append(*f, made)
	return nil
}

// cutOption cuts the first option off; a message takes all that follows, commas
// included.
func cutOption(options string) (first, rest string, more bool) {
	if strings.HasPrefix(options, "message=") {
		return options, "", false
	}
	return strings.Cut(options, ",")
}

func (f *fault) set(option string) (err error) {
	name, value, valued := strings.Cut(option, "=")
	if valued && (name == "after" || name == "stall") {
		return fmt.Errorf("%s takes no value", name)
	}
	switch name {
	case "after":
		f.After = true
	case "stall":
		f.Stall = true
	case "delay":
		f.Delay, err = duration(value)
	case "retry-after":
		f.RetryAfter, err = duration(value)
	case "keep":
		f.Cut = true
		f.Keep, err = number(value, 0)
	case "skip":
		f.Skip, err = number(value, 0)
	case "times":
		if f.Times = -1; value != "-1" {
			f.Times, err = number(value, 1)
		}
	case "message":
		f.Message = value
	default:
		return fmt.Errorf("a fault has no option %q; it has %s", option, faultOptions)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	return nil
}

func duration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time such as 200ms or 1m", text)
	}
	return d, nil
}

func number(text string, least int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		return 0, fmt.Errorf("%q is no number from %d", text, least)
	}
	return n, nil
}

// unseen says what of a fault no client could notice.
func (f fault) unseen() error {
	lists := []string{"SandboxList", "SandboxListV2"}
	switch {
	case f.Code != codes.OK && (f.Stall || f.Cut):
		return fmt.Errorf("stall and keep are instead of an error: the code must be OK")
	case f.Code == codes.OK && (f.RetryAfter > 0 || f.Message != ""):
		return fmt.Errorf("retry-after and message belong to an error: the code must not be OK")
	case f.Code == codes.OK && !f.Stall && !f.Cut && f.Delay == 0:
		return fmt.Errorf("OK alone changes nothing: add stall, delay=D or keep=N")
	case f.Cut && !slices.Contains(lists, f.method):
		return fmt.Errorf("keep cuts the replies of %s only", strings.Join(lists, " and "))
	}
	return nil
}

// nearest is the name that is most like a misspelt one.
func nearest(names []string, misspelt string) string {
	return slices.MinFunc(names, func(a, b string) int {
		return cmp.Compare(levenshtein.Distance(a, misspelt, nil), levenshtein.Distance(b, misspelt, nil))
	})
}

func codeNames() []string {
	names := make([]string, len(code.Code_name))
	for number, name := range code.Code_name {
		names[number] = name
	}
	return names
}
