// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// in is an expiry that far from now.
func in(d time.Duration) string { return airflow.FormatExpiry(clock.System().Now().Add(d)) }

// commands are the commands that were started, with their time limits.
func (c calls) commands() (started []*pb.TaskExecStartRequest) {
	for _, call := range c {
		if request, ok := call.Request.(*pb.TaskExecStartRequest); ok {
			started = append(started, request)
		}
	}
	return started
}

// minutesLeft is how much of its lifetime a sandbox of Terraform's has.
func minutesLeft(t *testing.T, it attachment) int {
	t.Helper()
	end, err := time.Parse(time.RFC3339, it.ExpiresAt)
	if err != nil {
		t.Fatal(err)
	}
	return int(math.Round(end.Sub(clock.System().Now()).Minutes()))
}

func toldMinutes(told string, minutes int) bool {
	return strings.Contains(told, fmt.Sprintf("About %d minutes of its lifetime remained", minutes))
}

func remainingLifetimeIsToldAndKept(t *testing.T) {
	it := made(t, "half an hour")
	before := minutesLeft(t, it)
	told := attach(t, it.Handle, owner)
	if !toldMinutes(told, before) && !toldMinutes(told, minutesLeft(t, it)) || before > 30 || before < 20 {
		t.Errorf("with %d minutes left the model is told %q", before, told)
	}
	release(t, it.Handle)

	retag(t, it.Handle, sandbox.Tags{airflow.TagExpiresAt: in(30 * time.Second)})
	attach(t, it.Handle, owner)
	started := watched.during(func() {
		call(t, it.Handle, "run_command", arguments{"command": "true", "timeout_seconds": 300})
	}).commands()
	if len(started) != 1 || started[0].GetTimeoutSecs() > 30 || started[0].GetTimeoutSecs() < 1 {
		t.Errorf("with 30 s left these were started: %v", started)
	}
	release(t, it.Handle)
}

func anOddExpiryRefusesNobody(t *testing.T) {
	it := made(t, "half an hour")
	for expiry, says := range map[string]string{
		"":             "How long it has left is not known.",
		"soon":         "How long it has left is not known.",
		in(-time.Hour): "Under a minute of its lifetime remained",
	} {
		retag(t, it.Handle, sandbox.Tags{airflow.TagExpiresAt: expiry})
		if told := attach(t, it.Handle, owner); !strings.Contains(told, says) {
			t.Errorf("with the expiry %q the model is told %q, want %q", expiry, told, says)
		}
		if said := call(t, it.Handle, "run_command", arguments{"command": "echo alive"}); !strings.Contains(said, "alive") {
			t.Errorf("with the expiry %q a command says %q", expiry, said)
		}
		release(t, it.Handle)
	}
}

// The backend of a task that attaches says /workspace, as every one does that is
// not told better.
func shellAndFilesAgreeOnTheStampedWorkdir(t *testing.T) {
	it := made(t, "elsewhere")
	asked := func() (times int) {
		for _, started := range watched.during(func() {
			attach(t, it.Handle, owner)
			call(t, it.Handle, "write_file", arguments{"path": "a.txt", "content": "a"})
			call(t, it.Handle, "write_file", arguments{"path": "b.txt", "content": "b"})
			if said := call(t, it.Handle, "run_command", arguments{"command": "pwd -P; ls"}); said != "[stdout]\n/srv/work\na.txt\nb.txt" {
				t.Errorf("the shell says %q", said)
			}
			release(t, it.Handle)
		}).commands() {
			if argv := started.GetCommandArgs(); argv[len(argv)-1] == "pwd" {
				times++
			}
		}
		return times
	}
	if times := asked(); times != 0 {
		t.Errorf("with the tag the sandbox was asked %d times where it works", times)
	}
	retag(t, it.Handle, sandbox.Tags{airflow.TagWorkdir: ""})
	if times := asked(); times != 1 {
		t.Errorf("without the tag the sandbox was asked %d times where it works, want once", times)
	}
}
