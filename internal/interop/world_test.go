// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"maps"
	"slices"
	"sync"
	"testing"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// place is where all sandboxes of these tests live.
const place = "modal:?egress_enforcement=sni"

// owner is what Terraform stamps and a Dag presents.
const owner = "terraform:lab/interop"

// made is the sandbox that terraform apply made under that name.
func made(t *testing.T, name string) attachment {
	t.Helper()
	found, ok := stack.made[name]
	if !ok {
		t.Fatalf("nothing was made for %s", name)
	}
	return found
}

// modal is our own backend at the place.
func modal(t *testing.T) backend.Backend {
	t.Helper()
	return open(t, place)
}

func open(t *testing.T, uri string) backend.Backend {
	t.Helper()
	conn, err := connect.Parse(uri)
	if err != nil {
		t.Fatal(err)
	}
	b, err := connect.Open(conn, connect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// look reads a sandbox with our own backend.
func look(t *testing.T, handle string) sandbox.Sandbox {
	t.Helper()
	found, err := modal(t).Get(t.Context(), sandbox.Ref{Handle: handle})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func tags(t *testing.T, handle string) sandbox.Tags {
	t.Helper()
	return look(t, handle).Tags
}

// retag writes tags past everybody else; an empty value takes the tag off.
func retag(t *testing.T, handle string, changes sandbox.Tags) {
	t.Helper()
	retagAt(t, modal(t), handle, changes)
}

func retagAt(t *testing.T, b backend.Backend, handle string, changes sandbox.Tags) {
	t.Helper()
	err := backend.EditTags(t.Context(), b, sandbox.Ref{Handle: handle}, func(tags sandbox.Tags) {
		for key, value := range changes {
			if tags[key] = value; value == "" {
				delete(tags, key)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// with is tags and one more.
func with(tags sandbox.Tags, key, value string) sandbox.Tags {
	tags = tags.Clone()
	tags[key] = value
	return tags
}

// wantTags checks that the tags of a sandbox are these to the byte.
func wantTags(t *testing.T, when, handle string, want sandbox.Tags) {
	t.Helper()
	if got := tags(t, handle); !maps.Equal(got, want) {
		t.Errorf("%s the tags are %v, want %v", when, got, want)
	}
}

// watcher sees every call that comes to the emulator.
type watcher struct {
	mu    sync.Mutex
	calls []emulator.Call
	hook  func(emulator.Call)
}

func (w *watcher) see(call emulator.Call) {
	w.mu.Lock()
	hook := w.hook
	if call.After {
		w.calls = append(w.calls, call)
	}
	w.mu.Unlock()
	if hook != nil {
		hook(call)
	}
}

// during returns the calls that are made while something is done.
func (w *watcher) during(do func()) (calls calls) {
	w.mu.Lock()
	before := len(w.calls)
	w.mu.Unlock()
	do()
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.calls[before:])
}

// meet has hook called with every call until the test ends.
func (w *watcher) meet(t *testing.T, hook func(emulator.Call)) {
	set := func(hook func(emulator.Call)) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hook = hook
	}
	set(hook)
	t.Cleanup(func() { set(nil) })
}

type calls []emulator.Call

// changing are the calls by which a sandbox could have been made, changed or used.
func (c calls) changing() (methods []string) {
	for _, call := range c {
		if slices.Contains([]string{"SandboxCreate", "SandboxCreateV2", "SandboxTagsSet", "SandboxTagsSetV2", "TaskExecStart"}, call.Method) {
			methods = append(methods, call.Method)
		}
	}
	return methods
}

// methods counts the calls by method.
func (c calls) methods() map[string]int {
	counts := map[string]int{}
	for _, call := range c {
		counts[call.Method]++
	}
	return counts
}

// tagsOf are the sets of tags that were written to a sandbox, in their order.
func (w *watcher) tagsOf(handle string) (all []sandbox.Tags) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, call := range w.calls {
		request, ok := call.Request.(*pb.SandboxTagsSetRequest)
		if !ok || request.GetSandboxId() != handle {
			continue
		}
		written := sandbox.Tags{}
		for _, tag := range request.GetTags() {
			written[tag.GetTagName()] = tag.GetTagValue()
		}
		all = append(all, written)
	}
	return all
}
