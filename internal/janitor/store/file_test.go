// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/store"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

func document() janitor.Document {
	return janitor.Document{
		Schema: janitor.DocumentSchema,
		Run:    janitor.Run{ID: "r1", Host: "here", Process: "1:2", Until: noon},
		Scopes: map[string]janitor.Scope{"local:": {
			LastLook: noon, LastComplete: noon, LastCount: 3,
			Marks: verdict.Marks{
				{Ref: sandbox.Ref{Handle: "sb-1", Incarnation: "x"}}: {Reason: "expired", First: noon, Looks: 2, Attempts: 1, LastError: "no"},
				{Ref: sandbox.Ref{Handle: "sb-1"}, Leftover: true}:   {Reason: "orphaned_workspace", First: noon},
			},
		}},
	}
}

func open(directory string) (*store.File, *bytes.Buffer) {
	var log bytes.Buffer
	return &store.File{Directory: directory, Clock: clock.NewFake(noon), Log: slog.New(slog.NewTextHandler(&log, nil))}, &log
}

func load(t *testing.T, s janitor.Store) (janitor.Document, janitor.Version) {
	t.Helper()
	doc, version, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return doc, version
}

func save(t *testing.T, s janitor.Store, doc janitor.Document, old janitor.Version) janitor.Version {
	t.Helper()
	version, err := s.Save(t.Context(), doc, old)
	if err != nil {
		t.Fatal(err)
	}
	return version
}

func TestStoresReturnWhatWasSavedAndRefuseStaleSaves(t *testing.T) {
	file, _ := open(filepath.Join(t.TempDir(), "deep", "state"))
	for name, s := range map[string]janitor.Store{"file": file, "memory": janitor.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			doc, never := load(t, s)
			if never != "" || len(doc.Scopes) != 0 {
				t.Errorf("before any save: %+v, version %q", doc, never)
			}
			first := save(t, s, document(), never)
			got, version := load(t, s)
			if diff := cmp.Diff(document(), got); diff != "" || version != first {
				t.Errorf("version %q, want %q (-saved +loaded):\n%s", version, first, diff)
			}
			if _, err := s.Save(t.Context(), document(), never); !errors.Is(err, janitor.ErrConflict) {
				t.Errorf("save over a version that is not the newest: %v", err)
			}
			doc.Run.ID = "r2"
			second := save(t, s, doc, first)
			if second == first {
				t.Error("another document has the same version")
			}
			if newest, err := s.Newest(t.Context()); err != nil || newest != second {
				t.Errorf("the newest version is %q, %v; want %q", newest, err, second)
			}
			if _, err := s.Save(t.Context(), document(), first); !errors.Is(err, janitor.ErrConflict) {
				t.Errorf("save over the first version after the second: %v", err)
			}
		})
	}
}

func TestLoadingChangesNothingOnDisk(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "state")
	s, _ := open(directory)
	load(t, s)
	if _, err := os.Lstat(directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("loading made the directory: %v", err)
	}
}

func TestOfManyJanitorsOnlyOneSavesOverAVersion(t *testing.T) {
	directory := t.TempDir()
	const janitors, rounds = 8, 20
	var wins sync.Map
	var all sync.WaitGroup
	for id := range janitors {
		all.Go(func() {
			s, _ := open(directory)
			for range rounds {
				doc, version, err := s.Load(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				doc.Run.ID = fmt.Sprintf("%d after %s", id, version)
				if _, err := s.Save(context.Background(), doc, version); err == nil {
					if other, twice := wins.LoadOrStore(version, id); twice {
						t.Errorf("janitors %d and %v both saved over %s", id, other, version)
					}
				} else if !errors.Is(err, janitor.ErrConflict) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestUnreadableDocumentIsReportedKeptAsideAndForgotten(t *testing.T) {
	whole := `{"schema": 1, "scopes": {"local:": {"last_count": 1, "marks": []}}}`
	for name, content := range map[string]string{
		"no JSON": "not json", "empty": "", "cut short": whole[:40], "no schema": "{}", "a list": "[]",
		"rubbish after": whole + "x", "marks of another shape": `{"schema": 1, "scopes": {"a": {"marks": {"b": 1}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			path := filepath.Join(directory, "state.json")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			s, log := open(directory)
			doc, version := load(t, s)
			if len(doc.Scopes) != 0 {
				t.Errorf("something of it was believed: %+v", doc)
			}
			if !strings.Contains(log.String(), path) {
				t.Errorf("not reported: %s", log)
			}
			if kept, _ := os.ReadFile(path); string(kept) != content {
				t.Errorf("loading changed it to %q", kept)
			}
			save(t, s, document(), version)
			aside, err := os.ReadFile(path + ".corrupt-20261130T120000.000000000Z")
			if err != nil || string(aside) != content {
				t.Errorf("kept aside: %q, %v", aside, err)
			}
			if got, _ := load(t, s); len(got.Scopes) != 1 {
				t.Errorf("the new document is %+v", got)
			}
		})
	}
}

func TestDocumentOfANewerJanitorIsNeitherReadNorOverwritten(t *testing.T) {
	directory := t.TempDir()
	content := `{"schema": 2, "scopes": "other"}`
	if err := os.WriteFile(filepath.Join(directory, "state.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := open(directory)
	if _, _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "newer janitor") {
		t.Errorf("load: %v", err)
	}
	if kept, _ := os.ReadFile(filepath.Join(directory, "state.json")); string(kept) != content {
		t.Errorf("overwritten: %q", kept)
	}
}

func TestWhatOthersCouldHavePlantedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		plant func(directory string) error
		want  string
	}{
		"directory is a link": {func(d string) error {
			return errors.Join(os.Remove(d), os.Symlink(os.TempDir(), d))
		}, "not a directory"},
		"directory is a file": {func(d string) error {
			return errors.Join(os.Remove(d), os.WriteFile(d, nil, 0o600))
		}, "not a directory"},
		"directory is open to all": {func(d string) error { return os.Chmod(d, 0o777) }, "chmod go-w"},
		"document is a link": {func(d string) error {
			return os.Symlink("/etc/passwd", filepath.Join(d, "state.json"))
		}, "not a regular file"},
		"document is a directory": {func(d string) error {
			return os.Mkdir(filepath.Join(d, "state.json"), 0o700)
		}, "not a regular file"},
		"document is open to all": {func(d string) error {
			path := filepath.Join(d, "state.json")
			return errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Chmod(path, 0o666))
		}, "chmod go-w"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := filepath.Join(t.TempDir(), "state")
			if err := errors.Join(os.Mkdir(directory, 0o700), c.plant(directory)); err != nil {
				t.Fatal(err)
			}
			s, _ := open(directory)
			if _, _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("load: %v", err)
			}
			if _, err := s.Save(t.Context(), document(), ""); err == nil {
				t.Error("saved all the same")
			}
		})
	}
}

func TestStateOfAnotherUserIsRefused(t *testing.T) {
	directory, owner := "/usr", 0
	if os.Geteuid() == 0 {
		directory, owner = t.TempDir(), 65534
		if err := os.Chown(directory, owner, owner); err != nil {
			t.Fatal(err)
		}
	}
	s, _ := open(directory)
	if _, _, err := s.Load(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("belongs to uid %d", owner)) {
		t.Errorf("load: %v", err)
	}
}

func TestHeldLockEndsAWaitingSaveWithItsContext(t *testing.T) {
	directory := t.TempDir()
	s, _ := open(directory)
	version := save(t, s, document(), "")
	release := holdLock(t, directory)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("told to stop"))
	if _, err := s.Save(ctx, document(), version); err == nil || !strings.Contains(err.Error(), "told to stop") {
		t.Errorf("save: %v", err)
	}
	release()
	save(t, s, document(), version)
}
