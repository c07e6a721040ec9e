// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

func TestEveryFaultOfTheEmulatorCanBeScripted(t *testing.T) {
	missing := make(map[string]bool)
	for field := range reflect.TypeFor[modal.Fault]().Fields() {
		missing[field.Name] = true
	}
	delete(missing, "Workspace") // the program has one
	for text, want := range map[string]fault{
		"SandboxCreateV2=UNAVAILABLE,after":               {"SandboxCreateV2", modal.Fault{Code: codes.Unavailable, After: true}},
		"AppList=RESOURCE_EXHAUSTED,retry-after=2s":       {"AppList", modal.Fault{Code: codes.ResourceExhausted, RetryAfter: 2 * time.Second}},
		"SandboxWaitV2=OK,delay=1m,skip=3,times=-1":       {"SandboxWaitV2", modal.Fault{Delay: time.Minute, Skip: 3, Times: -1}},
		"SandboxTagsSetV2=PERMISSION_DENIED,times=1000":   {"SandboxTagsSetV2", modal.Fault{Code: codes.PermissionDenied, Times: 1000}},
		"TaskExecStart=OK,stall,after":                    {"TaskExecStart", modal.Fault{Stall: true, After: true}},
		"SandboxListV2=OK,keep=0":                         {"SandboxListV2", modal.Fault{Cut: true}},
		"SandboxList=OK,keep=7":                           {"SandboxList", modal.Fault{Cut: true, Keep: 7}},
		"AppList=NOT_FOUND,skip=1,message=no, times=2, x": {"AppList", modal.Fault{Code: codes.NotFound, Skip: 1, Message: "no, times=2, x"}},
	} {
		var read faults
		if err := read.Set(text); err != nil || read[0] != want {
			t.Errorf("%s: %+v, %v", text, read, err)
		}
		for field, value := range reflect.ValueOf(want.Fault).Fields() {
			if !value.IsZero() {
				delete(missing, field.Name)
			}
		}
	}
	if len(missing) > 0 {
		t.Errorf("no text above sets %v", missing)
	}
}

func TestAFaultThatCannotBeReadSaysWhatIsWrongAndWhatIsKnown(t *testing.T) {
	for text, says := range map[string][]string{
		"":                              {"METHOD=CODE[,OPTION...]", faultOptions},
		"AppList":                       {"METHOD=CODE[,OPTION...]", faultOptions},
		"=OK":                           {"METHOD=CODE[,OPTION...]"},
		"AppList=":                      {"METHOD=CODE[,OPTION...]"},
		"SandboxCreateV3=UNAVAILABLE":   {`no method "SandboxCreateV3"`, "is it SandboxCreateV2?"},
		"taskexecstart=UNAVAILABLE":     {`no method "taskexecstart"`, "is it TaskExecStart?"},
		"AppList=BAD":                   {`"BAD" is no gRPC code`, "OK, CANCELLED,", "UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED"},
		"AppList=14":                    {`"14" is no gRPC code`},
		"AppList=OK,later":              {`no option "later"`, faultOptions},
		"AppList=OK,":                   {`no option ""`},
		"AppList=OK,delay=1":            {"delay=1", "no time such as 200ms"},
		"AppList=OK,delay=-1s":          {"delay=-1s", "no time such as 200ms"},
		"AppList=UNKNOWN,skip=x":        {"skip=x", "no number from 0"},
		"AppList=UNKNOWN,times=0":       {"times=0", "no number from 1"},
		"AppList=OK,stall=1m":           {"stall takes no value"},
		"AppList=OK":                    {"changes nothing", "stall, delay=D or keep=N"},
		"AppList=OK,after":              {"changes nothing"},
		"AppList=UNKNOWN,stall":         {"the code must be OK"},
		"SandboxList=UNKNOWN,keep=1":    {"the code must be OK"},
		"AppList=OK,retry-after=1s":     {"the code must not be OK"},
		"AppList=OK,delay=1s,message=x": {"the code must not be OK"},
		"AppList=OK,keep=1":             {"SandboxList and SandboxListV2 only"},
	} {
		err := new(faults).Set(text)
		for _, part := range says {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%q: %v, want %q", text, err, part)
			}
		}
	}
}
