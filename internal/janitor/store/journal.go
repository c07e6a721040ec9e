// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

const (
	journalName = "journal.jsonl"
	// journalMaxBytes is where a journal becomes journal.jsonl.1, and what was
	// under that name is dropped: at most twice this stays on the disk.
	journalMaxBytes = 8 << 20
)

// Entry is one line of the journal: one attempt to reclaim, or what came of an
// earlier one.
type Entry struct {
	At          time.Time            `json:"at"`
	Run         string               `json:"run"`
	Connection  string               `json:"connection"`
	Scope       string               `json:"scope"`
	Handle      string               `json:"handle"`
	Incarnation string               `json:"incarnation,omitempty"`
	Leftover    bool                 `json:"leftover,omitempty"`
	Act         verdict.Act          `json:"act,omitzero"` // absent: destroy
	Reason      verdict.Reason       `json:"reason"`
	Result      janitor.ActionResult `json:"result"`
	Attempt     int                  `json:"attempt,omitempty"`
	Owner       string               `json:"owner,omitempty"`
	Evidence    []verdict.Evidence   `json:"evidence,omitempty"`
	Detail      string               `json:"detail,omitempty"`
}

// Entries lists what a run tried, in the order of its result.
func Entries(result janitor.Result) []Entry {
	var entries []Entry
	for _, c := range result.Connections {
		for _, a := range c.Actions {
			if a.Result == janitor.Postponed {
				continue
			}
			e := Entry{
				At: a.At, Run: result.RunID, Connection: c.Name, Scope: c.Scope,
				Handle: a.Handle, Incarnation: a.Incarnation, Leftover: a.Leftover,
				Act: a.Act, Reason: a.Reason, Result: a.Result, Attempt: a.Attempt, Detail: a.Detail,
			}
			if v := c.Judged(a); v != nil {
				e.Owner, e.Evidence = v.Owner, v.Evidence
			}
			entries = append(entries, e)
		}
	}
	return entries
}

// Journal appends entries to DIRECTORY/journal.jsonl for people to read. No
// decision rests on it, so a line that a crash cut short does no harm.
func (f *File) Journal(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	encoder.SetEscapeHTML(false)
	for _, e := range entries {
		if err := encoder.Encode(e); err != nil {
			return fmt.Errorf("write the journal: %w", err)
		}
	}
	unlock, err := f.lock(ctx)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	defer unlock()
	if err := f.append(lines.Bytes()); err != nil {
		return fmt.Errorf("write the journal %s: %w", f.path(journalName), err)
	}
	return nil
}

func (f *File) append(lines []byte) error {
	path := f.path(journalName)
	switch err := checkFile(path); {
	case err == nil:
		if err := rotate(path); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if cutShort(file) {
		lines = append([]byte("\n"), lines...)
	}
	_, err = file.Write(lines)
	return errors.Join(err, file.Close())
}

func rotate(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Size() < journalMaxBytes {
		return err
	}
	return os.Rename(path, path+".1")
}

// cutShort reports whether the last line has no end.
func cutShort(file *os.File) bool {
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = file.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}
