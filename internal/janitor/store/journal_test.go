// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package store_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/store"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

func entries() []store.Entry {
	key := verdict.Key{Ref: sandbox.Ref{Handle: "sb-1", Incarnation: "x"}}
	evidence := []verdict.Evidence{{Fact: "expiry", Value: "<12:00>", Source: "tag airflow_expires_at"}}
	return store.Entries(janitor.Result{RunID: "r1", Connections: []janitor.ConnectionResult{{
		Name: "lab", Scope: "local:", Verdicts: []verdict.Verdict{{Key: key, Owner: "etl/run", Evidence: evidence}}, Actions: []janitor.Action{
			{Key: key, Reason: "expired", Result: janitor.Asked, At: noon, Attempt: 1},
			{Key: key, Reason: "expired", Result: janitor.Reclaimed, At: noon.Add(1), Detail: "absent by id"},
		},
	}}})
}

func journal(t *testing.T, directory string) []store.Entry {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(directory, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []store.Entry
	for line := range bytes.Lines(content) {
		var e store.Entry
		if json.Unmarshal(line, &e) == nil {
			all = append(all, e)
		}
	}
	return all
}

func TestJournalTellsWhatWasDoneAndOnWhatEvidence(t *testing.T) {
	s, _ := open(filepath.Join(t.TempDir(), "state"))
	for range 2 {
		if err := s.Journal(t.Context(), entries()); err != nil {
			t.Fatal(err)
		}
	}
	read := journal(t, s.Directory)
	if diff := cmp.Diff(append(entries(), entries()...), read); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	if read[0].Owner != "etl/run" || len(read[0].Evidence) != 1 {
		t.Errorf("without its evidence: %+v", read[0])
	}
}

func TestJournalTellsOnlyWhatWasTried(t *testing.T) {
	result := janitor.Result{Connections: []janitor.ConnectionResult{{
		OverCap: 1000, Actions: []janitor.Action{{Reason: "expired", Result: janitor.Postponed}},
	}}}
	if entries := store.Entries(result); len(entries) > 0 {
		t.Errorf("wrote %+v", entries)
	}
}

func TestNothingDoneWritesNoJournal(t *testing.T) {
	s, _ := open(filepath.Join(t.TempDir(), "state"))
	if err := s.Journal(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(s.Directory); err == nil {
		t.Error("the directory was made for nothing")
	}
}

func TestLineThatACrashCutShortSpoilsNoOther(t *testing.T) {
	s, _ := open(t.TempDir())
	if err := os.WriteFile(filepath.Join(s.Directory, "journal.jsonl"), []byte(`{"at": "20`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Journal(t.Context(), entries()); err != nil {
		t.Fatal(err)
	}
	if got := journal(t, s.Directory); len(got) != 2 {
		t.Errorf("read %d entries, want 2", len(got))
	}
}

func TestJournalIsBounded(t *testing.T) {
	s, _ := open(t.TempDir())
	path := filepath.Join(s.Directory, "journal.jsonl")
	for range 2 {
		if err := os.WriteFile(path, bytes.Repeat([]byte("{}\n"), 3<<20), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Journal(t.Context(), entries()); err != nil {
			t.Fatal(err)
		}
	}
	if got := journal(t, s.Directory); len(got) != 2 {
		t.Errorf("the new journal has %d entries, want 2", len(got))
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != 2 {
		t.Errorf("files %q, %v; want the journal and the one before", files, err)
	}
}

func TestJournalThatIsALinkIsRefused(t *testing.T) {
	s, _ := open(t.TempDir())
	target := filepath.Join(t.TempDir(), "target")
	if err := os.Symlink(target, filepath.Join(s.Directory, "journal.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := s.Journal(t.Context(), entries()); err == nil {
		t.Error("written through a link")
	}
	if _, err := os.Lstat(target); err == nil {
		t.Error("the link's target was made")
	}
}
