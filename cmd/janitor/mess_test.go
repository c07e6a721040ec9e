// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// The tags of Airflow that a made sandbox has.
const (
	tagExpiresAt = "airflow_expires_at"
	tagOwner     = "airflow_owner"
)

// mess makes sandboxes in a local state directory, and lets them go wrong.
type mess struct {
	dir     string
	backend backend.Backend
}

func newMess(dir string) (mess, error) {
	conn, err := connect.Parse("local://" + dir)
	if err != nil {
		return mess{}, err
	}
	b, err := connect.Open(conn, connect.Options{})
	if err != nil {
		return mess{}, err
	}
	return mess{dir, b}, b.(backend.Preparer).Prepare(context.Background())
}

// reachable returns a directory that the users of sandboxes can pass through,
// which a test's own temporary directory is not.
func reachable(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "janitor-") //nolint:usetesting // the parent of t.TempDir is closed to others
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// make makes a sandbox that ends in an hour.
func (m mess) make() (handle string, err error) {
	now := clock.System().Now()
	tags := sandbox.Tags{tagExpiresAt: strconv.FormatInt(now.Add(time.Hour).Unix(), 10), tagOwner: "etl/manual"}
	made, err := backend.Create(context.Background(), m.backend, backend.NewRequest(sandbox.Spec{Lifetime: time.Hour}, tags, now))
	return made.Handle, err
}

// age moves everything that happened to a sandbox into the past.
func (m mess) age(handle string, by time.Duration) error {
	path := filepath.Join(m.dir, "sandboxes", handle, "meta.json")
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var record map[string]any
	if err := json.Unmarshal(data, &record); err != nil {
		return err
	}
	for _, key := range []string{"created_at", "expires_at", "status_since"} {
		moment, err := time.Parse(time.RFC3339, record[key].(string))
		if err != nil {
			return err
		}
		record[key] = moment.Add(-by).Format(time.RFC3339Nano)
	}
	tags := record["tags"].(map[string]any)
	for _, key := range []string{tagExpiresAt, sandbox.TagTeardownAt} {
		if value, ok := tags[key].(string); ok {
			seconds, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return err
			}
			tags[key] = strconv.FormatInt(seconds-int64(by.Seconds()), 10)
		}
	}
	if data, err = json.Marshal(record); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// tag sets one tag; the value "now" is the present in Unix seconds.
func (m mess) tag(handle, key, value string) error {
	if value == "now" {
		value = strconv.FormatInt(clock.System().Now().Unix(), 10)
	}
	return backend.EditTags(context.Background(), m.backend, sandbox.Ref{Handle: handle}, func(tags sandbox.Tags) { tags[key] = value })
}

// leftover makes what a killed deletion leaves.
func (m mess) leftover(name string) error {
	return os.MkdirAll(filepath.Join(m.dir, "trash", name, "work"), 0o700)
}

func (m mess) read(handle string) (sandbox.Sandbox, error) {
	return m.backend.Get(context.Background(), sandbox.Ref{Handle: handle})
}

func (m mess) alive(handle string) (bool, error) {
	_, err := m.read(handle)
	if errors.Is(err, backend.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// expired makes n sandboxes that expired an hour ago.
func (m mess) expired(t *testing.T, n int) []string {
	t.Helper()
	var handles []string
	for range n {
		handle, err := m.make()
		if err == nil {
			err = m.age(handle, 2*time.Hour)
		}
		if err != nil {
			t.Fatal(err)
		}
		handles = append(handles, handle)
	}
	return handles
}
