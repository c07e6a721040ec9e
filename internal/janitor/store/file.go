// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package store keeps what the janitor remembers between runs: one small JSON
// document in a directory, and beside it a journal that tells people what was
// done.
package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
)

const (
	documentName = "state.json"
	stagingName  = "state.json.new" // written under the lock only
	lockName     = "janitor.lock"
)

// File keeps the document as DIRECTORY/state.json. A save is compared with the
// newest version under a lock, written beside, synced and renamed, so that a
// reader, a second janitor and a power cut each see one whole document. Loading
// changes nothing; the first save makes the directory.
type File struct {
	Directory string
	Clock     clock.Clock
	Log       *slog.Logger
}

var _ janitor.Store = (*File)(nil)

// Load returns the newest document. A document that is no JSON of ours is
// reported, and read as the empty one; one of a newer schema is an error.
func (f *File) Load(ctx context.Context) (janitor.Document, janitor.Version, error) {
	content, err := f.read()
	if err != nil {
		return janitor.Document{}, "", fmt.Errorf("load the janitor's state: %w", err)
	}
	doc, err := decode(content)
	var newer newerSchemaError
	switch {
	case errors.As(err, &newer):
		return janitor.Document{}, "", fmt.Errorf("load the janitor's state %s: %w", f.path(documentName), err)
	case err != nil:
		f.Log.WarnContext(ctx, "the state cannot be read; everything counts as newly seen, and the next save keeps it aside",
			"file", f.path(documentName), "error", err)
		doc = empty()
	}
	return doc, version(content), nil
}

// Newest tells the newest version without reading what it says.
func (f *File) Newest(context.Context) (janitor.Version, error) {
	content, err := f.read()
	if err != nil {
		return "", fmt.Errorf("look at the janitor's state: %w", err)
	}
	return version(content), nil
}

// Save replaces the document that was loaded as version old. When the disk is
// full, the old document stands.
func (f *File) Save(ctx context.Context, doc janitor.Document, old janitor.Version) (janitor.Version, error) {
	saved, err := f.save(ctx, doc, old)
	if err != nil {
		return "", fmt.Errorf("save the janitor's state in %s: %w", f.Directory, err)
	}
	return saved, nil
}

func (f *File) save(ctx context.Context, doc janitor.Document, old janitor.Version) (janitor.Version, error) {
	doc.Schema = janitor.DocumentSchema
	content, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return "", err
	}
	content = append(content, '\n')
	unlock, err := f.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	current, err := f.read()
	if err != nil {
		return "", err
	}
	if version(current) != old {
		return "", janitor.ErrConflict
	}
	if _, err := decode(current); err != nil {
		if err := f.keepAside(ctx); err != nil {
			return "", err
		}
	}
	if err := f.replace(content); err != nil {
		return "", err
	}
	return version(content), nil
}

func (f *File) path(name string) string { return filepath.Join(f.Directory, name) }

// read returns the document's bytes; none when it was never saved.
func (f *File) read() ([]byte, error) {
	err := checkDirectory(f.Directory)
	if err == nil {
		err = checkFile(f.path(documentName))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(f.path(documentName))
}

// replace puts content where the document is, all or nothing.
func (f *File) replace(content []byte) error {
	staging := f.path(stagingName)
	if err := writeSynced(staging, content); err != nil {
		_ = os.Remove(staging)
		return err
	}
	if err := os.Rename(staging, f.path(documentName)); err != nil {
		return err
	}
	return syncDirectory(f.Directory)
}

func (f *File) keepAside(ctx context.Context) error {
	aside := f.path(documentName + ".corrupt-" + f.Clock.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := os.Rename(f.path(documentName), aside); err != nil {
		return fmt.Errorf("keep the unreadable state aside: %w", err)
	}
	f.Log.WarnContext(ctx, "kept the unreadable state aside", "file", aside)
	return nil
}

type newerSchemaError int

func (e newerSchemaError) Error() string {
	return fmt.Sprintf("its schema is %d and this janitor reads %d: a newer janitor wrote it; use that one, or another --state", int(e), janitor.DocumentSchema)
}

func empty() janitor.Document {
	return janitor.Document{Schema: janitor.DocumentSchema, Scopes: map[string]janitor.Scope{}}
}

// decode reads a document. Nil is a document that was never saved.
func decode(content []byte) (janitor.Document, error) {
	if content == nil {
		return empty(), nil
	}
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(content, &head); err != nil {
		return janitor.Document{}, err
	}
	if head.Schema > janitor.DocumentSchema {
		return janitor.Document{}, newerSchemaError(head.Schema)
	}
	if head.Schema < 1 {
		return janitor.Document{}, errors.New("it has no schema")
	}
	doc := empty()
	if err := json.Unmarshal(content, &doc); err != nil {
		return janitor.Document{}, err
	}
	if doc.Scopes == nil {
		doc.Scopes = map[string]janitor.Scope{}
	}
	return doc, nil
}

// version is the content's own hash, so that no counter can be lost with it.
func version(content []byte) janitor.Version {
	if content == nil {
		return ""
	}
	sum := sha256.Sum256(content)
	return janitor.Version(hex.EncodeToString(sum[:]))
}
