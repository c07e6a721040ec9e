// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// account is an emulated Modal account with an app, and a janitor's
// configuration for it.
type account struct {
	server     *emulator.Server
	config     string
	generation emulator.Generations // of what is put into it; none: the newest
}

const modalApp = "airflow-sandbox" // what "modal:" means

func newAccount(t *testing.T, opts emulator.Options, settings string) account {
	t.Helper()
	server, err := emulator.Start(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	a := account{server: server}
	return a.another(t, settings)
}

// another is another janitor of the same account, with a state of its own.
func (a account) another(t *testing.T, settings string) account {
	t.Helper()
	dir := t.TempDir()
	a.config = filepath.Join(dir, "janitor.yaml")
	text := fmt.Sprintf("mode: enforce\nstate: file://%s/state\nconnections: {prod: {uri: \"modal:\"}}\n%s\n", dir, settings)
	if err := os.WriteFile(a.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a account) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, append(args, "--config", a.config)...)
	cmd.Env = append(append(os.Environ(), a.server.Environ()...), "JANITOR_CONFIG=")
	return cmd
}

func (a account) run(t *testing.T, args ...string) (out string, status int) {
	t.Helper()
	return finish(t, a.command(t, args...))
}

// open opens the app in this process, whose environment it changes.
func (a account) open(t *testing.T, further ...string) backend.Backend {
	t.Helper()
	for _, variable := range append(a.server.Environ(), further...) {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	conn, err := connect.Parse("modal:")
	if err != nil {
		t.Fatal(err)
	}
	b, err := connect.Open(conn, connect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// prepared makes the app where it is missing.
func prepared(t *testing.T, b backend.Backend) backend.Backend {
	t.Helper()
	if err := b.(backend.Preparer).Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

// stand puts n sandboxes of Terraform's into the app, each made an hour ago or a
// little before, with further tags.
func (a account) stand(t *testing.T, n int, further sandbox.Tags) (handles []string) {
	t.Helper()
	seeds := make([]emulator.Seed, n)
	for i := range seeds {
		created := a.server.Now().Add(-time.Hour - time.Duration(i)*time.Millisecond)
		mark := sandbox.NewMark()
		tags := sandbox.Tags{
			sandbox.TagManagedBy: sandbox.ManagedByTerraform,
			sandbox.TagAttempt:   mark,
			tagOwner:             "terraform:prod/" + strconv.Itoa(i),
			tagExpiresAt:         strconv.FormatInt(created.Add(24*time.Hour).Unix(), 10),
		}
		maps.Copy(tags, further)
		seeds[i] = emulator.Seed{App: modalApp, Generation: a.generation, Name: sandbox.Name(mark), Tags: tags, Created: created, Timeout: 24 * time.Hour}
	}
	handles, err := a.server.Seed(seeds...)
	if err != nil {
		t.Fatal(err)
	}
	return handles
}

// ago is a tag's value for a moment that long ago.
func (a account) ago(d time.Duration) string {
	return strconv.FormatInt(a.server.Now().Add(-d).Unix(), 10)
}

// torn are the tags of a sandbox whose teardown was asked for, and failed.
func (a account) torn() sandbox.Tags {
	return sandbox.Tags{sandbox.TagTeardownAt: a.ago(30 * time.Minute)}
}

func (a account) running() map[string]bool {
	running := make(map[string]bool)
	for _, box := range a.server.Sandboxes() {
		if box.Running {
			running[box.ID] = true
		}
	}
	return running
}

// check checks that all of handles run, or none.
func (a account) check(t *testing.T, what string, handles []string, want bool) {
	t.Helper()
	running := a.running()
	for _, handle := range handles {
		if running[handle] != want {
			t.Errorf("%s: %s runs is %t, want %t", what, handle, running[handle], want)
		}
	}
}

func (a account) calls() int {
	total := 0
	for _, n := range a.server.Calls() {
		total += n
	}
	return total
}
