// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/terraform-exec/tfexec"
	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// address is that of an instance in the configuration.
func address(name string) string { return fmt.Sprintf("sandbox_instance.it[%q]", name) }

// only targets one instance: others have tags that no Terraform wrote.
func only(name string) *tfexec.TargetOption { return tfexec.Target(address(name)) }

func wantQuiet(t *testing.T, when, name string) {
	t.Helper()
	changes, err := stack.Plan(t.Context(), only(name))
	if err != nil || changes {
		t.Errorf("%s a plan has changes: %t, %v", when, changes, err)
	}
}

func attachedSandboxStaysTerraforms(t *testing.T) {
	it := made(t, "planned")
	attach(t, it.Handle, owner)
	wantQuiet(t, "while a task holds it,", "planned")
	release(t, it.Handle)
	wantQuiet(t, "after the release,", "planned")
	if left := look(t, it.Handle); left.State != sandbox.Running {
		t.Errorf("the sandbox is %v", left.State)
	}
}

func applyKeepsTheHolder(t *testing.T) {
	it := made(t, "retagged")
	before := tags(t, it.Handle)
	attach(t, it.Handle, owner)
	changed := maps.Clone(instances)
	changed["retagged"] = instance{Owner: owner, Tags: map[string]string{"team": "research"}}
	if err := stack.apply(changed, only("retagged")); err != nil {
		t.Fatal(err)
	}
	now := with(before, "team", "research")
	wantTags(t, "applied while held,", it.Handle, with(now, airflow.TagHolder, owner))
	release(t, it.Handle)
	wantTags(t, "after the release,", it.Handle, now)
}

// destroying runs terraform destroy of one instance in the background.
func destroying(t *testing.T, name string) (done chan error) {
	done = make(chan error, 1)
	go func() { done <- stack.Destroy(t.Context(), only(name)) }()
	return done
}

func TestDestroyWaitsForARealTaskAndThenGoesOn(t *testing.T) {
	it := made(t, "waited for")
	attach(t, it.Handle, owner)
	waits := make(chan struct{})
	var looks atomic.Int32
	watched.meet(t, func(call emulator.Call) {
		if !call.After && call.Method == "SandboxListV2" {
			if looks.Add(1) == 5 { // the refresh, and then the looks at the holder
				close(waits)
			}
		}
	})
	done := destroying(t, "waited for")
	select {
	case <-waits:
	case err := <-done:
		t.Fatalf("the destroy did not wait: %v", err)
	}
	if said := call(t, it.Handle, "run_command", arguments{"command": "echo working"}); !strings.Contains(said, "working") {
		t.Errorf("while a destroy waits a command says %q", said)
	}
	release(t, it.Handle)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	wantRefused(t, "destroyed", worker.do(t, "attach", arguments{"handle": it.Handle, "owner": owner}), "already held by 'terraform:")
}

// The task comes between the claim and the end.
func TestTaskIsRefusedByTheClaimOfADestroy(t *testing.T) {
	it := made(t, "claimed")
	reached, goOn := make(chan struct{}), make(chan struct{})
	watched.meet(t, func(call emulator.Call) {
		if !call.After && strings.HasPrefix(call.Method, "SandboxTerminate") {
			close(reached)
			<-goOn
		}
	})
	done := destroying(t, "claimed")
	select {
	case <-reached:
	case err := <-done:
		t.Fatalf("the destroy ended nothing: %v", err)
	}
	wantRefused(t, "claimed", worker.do(t, "attach", arguments{"handle": it.Handle, "owner": owner}), "already held by 'terraform:")
	if held := tags(t, it.Handle); !sandbox.IsClaim(airflow.Holder(held)) || held[sandbox.TagTeardownAt] == "" {
		t.Errorf("the tags are %v", held)
	}
	close(goOn)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// The task has read the tags before the claim of the destroy was written, and
// writes its own over it when that has been read again: Modal compares nothing.
func TestTaskThatAttachesInTheSameMomentIsNotKilled(t *testing.T) {
	it := made(t, "same moment")
	var claimed, looked sync.Once
	wants, goOn := make(chan struct{}), make(chan struct{})
	var claim atomic.Bool
	watched.meet(t, func(call emulator.Call) {
		request, sets := call.Request.(*pb.SandboxTagsSetRequest)
		switch {
		case sets && !call.After && holderOf(request) == owner:
			claimed.Do(func() { close(wants); <-goOn })
		case sets && call.After && sandbox.IsClaim(holderOf(request)):
			claim.Store(true)
		case call.Method == "SandboxListV2" && call.After && claim.Load():
			looked.Do(func() { close(goOn) })
		}
	})
	attached := make(chan answer, 1)
	go func() { attached <- worker.do(t, "attach", arguments{"handle": it.Handle, "owner": owner}) }()
	<-wants
	done := destroying(t, "same moment")
	select {
	case answered := <-attached:
		if answered.Error != nil {
			t.Fatalf("the task was refused: %+v", *answered.Error)
		}
	case err := <-done:
		t.Fatalf("the destroy did not meet the task: %v", err)
	}
	for range 5 {
		if said := call(t, it.Handle, "run_command", arguments{"command": "sleep 0.3; echo working"}); !strings.Contains(said, "working") {
			t.Fatalf("under the task a command says %q", said)
		}
	}
	release(t, it.Handle)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// holderOf is the holder in a set of tags that is written.
func holderOf(request *pb.SandboxTagsSetRequest) string {
	for _, tag := range request.GetTags() {
		if tag.GetTagName() == airflow.TagHolder {
			return tag.GetTagValue()
		}
	}
	return ""
}
