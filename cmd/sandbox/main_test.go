// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"sandbox": main}) }

// TestScripts runs the real program on real local sandboxes. In a script $URI
// is an empty place.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		WorkdirRoot:         publicDir(t),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("URI", "local://"+filepath.Join(env.WorkDir, "state"))
			env.Setenv("BELL", "bad\x1b[2J")
			env.Setenv("RUN", "etl/scheduled__2026-11-30T00:00:00+00:00")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"create": scriptCreate,
			"tag":    scriptTag,
			"ruin":   scriptRuin,
			"expire": scriptExpire,
			"prefix": scriptPrefix,
			"status": scriptStatus,
		},
	})
}

// publicDir is a temporary directory that the unprivileged users, as whom
// commands run, can reach.
func publicDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// create NAME [KEY=VALUE...] makes a sandbox with these tags and puts its
// handle into the variable NAME.
func scriptCreate(ts *testscript.TestScript, _ bool, args []string) {
	made, err := create(context.Background(), ts.Getenv("URI"), args[1:]...)
	ts.Check(err)
	ts.Setenv(args[0], made.Handle)
}

// tag HANDLE KEY=VALUE... sets tags, as another program would.
func scriptTag(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(retag(context.Background(), ts.Getenv("URI"), args[0], args[1:]...))
}

// ruin HANDLE makes the record of a local sandbox unreadable.
func scriptRuin(ts *testscript.TestScript, _ bool, args []string) {
	_, err := os.Stat(recordOf(ts, args[0]))
	ts.Check(err)
	ts.Check(os.WriteFile(recordOf(ts, args[0]), []byte("{"), 0o600))
}

// expire HANDLE puts the end of a local sandbox into the past.
func scriptExpire(ts *testscript.TestScript, _ bool, args []string) {
	data, err := os.ReadFile(recordOf(ts, args[0]))
	ts.Check(err)
	var record map[string]any
	ts.Check(json.Unmarshal(data, &record))
	record["expires_at"] = "2020-01-01T00:00:00Z"
	data, err = json.Marshal(record)
	ts.Check(err)
	ts.Check(os.WriteFile(recordOf(ts, args[0]), data, 0o600))
}

func recordOf(ts *testscript.TestScript, handle string) string {
	return filepath.Join(ts.Getenv("WORK"), "state", "sandboxes", handle, "meta.json")
}

// prefix NAME HANDLE puts the first 20 characters of HANDLE into NAME_PREFIX.
func scriptPrefix(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0]+"_PREFIX", args[1][:20])
}

// status N COMMAND... demands that COMMAND ends with exit status N.
func scriptStatus(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// create makes a sandbox with an hour to live.
func create(ctx context.Context, uri string, pairs ...string) (sandbox.Sandbox, error) {
	b, err := reach(uri)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	if preparer, ok := b.(backend.Preparer); ok {
		if err := preparer.Prepare(ctx); err != nil {
			return sandbox.Sandbox{}, err
		}
	}
	spec := sandbox.Spec{Lifetime: time.Hour}
	now := clock.System().Now()
	tags := sandbox.Tags{airflow.TagExpiresAt: airflow.FormatExpiry(now.Add(spec.Lifetime))}
	setPairs(tags, pairs)
	return backend.Create(ctx, b, backend.NewRequest(spec, tags, now))
}

func retag(ctx context.Context, uri, handle string, pairs ...string) error {
	b, err := reach(uri)
	if err != nil {
		return err
	}
	return backend.EditTags(ctx, b, sandbox.Ref{Handle: handle}, func(tags sandbox.Tags) { setPairs(tags, pairs) })
}

func setPairs(tags sandbox.Tags, pairs []string) {
	for _, pair := range pairs {
		key, value, _ := strings.Cut(pair, "=")
		tags[key] = value
	}
}

func reach(uri string) (backend.Backend, error) {
	conn, err := connect.Parse(uri)
	if err != nil {
		return nil, err
	}
	return connect.Open(conn, connect.Options{})
}
