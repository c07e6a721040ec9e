// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"emulator": main}) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true})
}

func TestFaultsAreReadFromTheCommandLine(t *testing.T) {
	for text, want := range map[string]fault{
		"SandboxCreateV2=UNAVAILABLE,after":             {"SandboxCreateV2", modal.Fault{Code: codes.Unavailable, After: true}},
		"AppList=RESOURCE_EXHAUSTED,retry-after=2s":     {"AppList", modal.Fault{Code: codes.ResourceExhausted, RetryAfter: 2 * time.Second}},
		"SandboxWaitV2=OK,delay=1m,skip=3,times=-1":     {"SandboxWaitV2", modal.Fault{Delay: time.Minute, Skip: 3, Times: -1}},
		"SandboxTagsSetV2=PERMISSION_DENIED,times=1000": {"SandboxTagsSetV2", modal.Fault{Code: codes.PermissionDenied, Times: 1000}},
	} {
		var read faults
		if err := read.Set(text); err != nil || read[0] != want {
			t.Errorf("%s: %+v, %v", text, read, err)
		}
	}
	for text, says := range map[string]string{
		"": "METHOD=CODE", "AppList": "METHOD=CODE", "=OK": "METHOD=CODE", "AppList=": "METHOD=CODE",
		"AppList=BAD": "no gRPC code", "AppList=OK,later": `no option "later"`, "AppList=OK,delay=1": "missing unit", "AppList=OK,skip=x": "invalid syntax",
	} {
		if err := new(faults).Set(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}
