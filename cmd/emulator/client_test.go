// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modal-labs/modal-client/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// serve runs the program, sets the environment that it prints, and returns a
// function that ends it and returns what it has logged.
func serve(t *testing.T, flags ...string) (end func() string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "emulator", append([]string{"modal"}, flags...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	last := ""
	for lines := bufio.NewScanner(out); last != "no_proxy" && lines.Scan(); {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		t.Setenv(name, strings.Trim(value, "'"))
		last = name
	}
	return func() string {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil || last != "no_proxy" {
			t.Errorf("the emulator printed up to %q and ended with %v\n%s", last, err, &log)
		}
		return log.String()
	}
}

func TestScriptedFaultsMeetModalsClient(t *testing.T) {
	end := serve(t, "--log-calls",
		"--fail", "AppGetOrCreate=PERMISSION_DENIED,message=not you, not here",
		"--fail", "SandboxCreateV2=UNAVAILABLE",
		"--fail", "SandboxCreateV2=UNAVAILABLE,after,skip=1",
		"--fail", "SandboxListV2=OK,keep=0",
		"--fail", "SandboxTagsSetV2=RESOURCE_EXHAUSTED,retry-after=10ms",
		"--fail", "SandboxTerminateV2=OK,stall",
	)
	t.Setenv("MODAL_SANDBOX_V2", "1")
	client, err := sdk.NewClientWithOptions(&sdk.ClientParams{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	missing := &sdk.AppFromNameParams{CreateIfMissing: true}
	if _, err := client.Apps.FromName(ctx, "a", missing); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "not you, not here") {
		t.Errorf("the first app: %v", err)
	}
	app, err := client.Apps.FromName(ctx, "a", missing)
	if err != nil {
		t.Fatal(err)
	}
	var box *sdk.Sandbox
	for range 2 { // the client tries each again: once for nothing, once for a second sandbox
		if box, err = client.Sandboxes.Create(ctx, app, client.Images.FromRegistry("python:3.12-slim", nil), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []int{0, 3} {
		boxes, err := client.Sandboxes.List(ctx, &sdk.SandboxListParams{AppID: app.AppID})
		if err != nil {
			t.Fatal(err)
		}
		listed := 0
		for _, err := range boxes {
			if err != nil {
				t.Fatal(err)
			}
			listed++
		}
		if listed != want {
			t.Errorf("%d sandboxes listed, want %d", listed, want)
		}
	}
	if err := box.SetTags(ctx, map[string]string{"team": "research"}, nil); err != nil {
		t.Errorf("a tag edit that is throttled: %v", err)
	}
	hurry, give := context.WithTimeout(ctx, 100*time.Millisecond)
	defer give()
	if _, err := box.Terminate(hurry, nil); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a terminate that stalls: %v", err)
	}
	if _, err := box.Terminate(ctx, nil); err != nil {
		t.Errorf("the next terminate: %v", err)
	}

	log := end()
	for _, line := range []string{
		"method=AppGetOrCreate code=PermissionDenied", "method=SandboxCreateV2 code=Unavailable",
		"method=SandboxTagsSetV2 code=ResourceExhausted", "method=SandboxTagsSetV2 code=OK",
	} {
		if !strings.Contains(log, line) {
			t.Errorf("no line with %q in\n%s", line, log)
		}
	}
}
