// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// What is in a sandbox's directory.
const (
	recordFile = "meta.json"
	metaLock   = "meta.lock" // exclusive around each change of the record
	runLock    = "run.lock"  // shared while a command runs; the deleter takes it exclusively
	openLock   = "open.lock" // shared while a command has the network; who cuts it off takes it exclusively
	workDir    = "work"      // what commands see as their workdir
)

// The statuses of a record.
const (
	statusRunning  = "running"
	statusStopping = "stopping"
)

// record is meta.json.
type record struct {
	Schema      int               `json:"schema"`
	Handle      string            `json:"handle"`
	Incarnation string            `json:"incarnation"`
	Mark        string            `json:"mark"`
	Status      string            `json:"status"`
	StatusSince time.Time         `json:"status_since"`
	CreatedAt   time.Time         `json:"created_at"`
	ExpiresAt   time.Time         `json:"expires_at"`
	Image       string            `json:"image"`
	Workdir     string            `json:"workdir"`
	Env         map[string]string `json:"env,omitempty"`
	OpenNetwork bool              `json:"open_network"`
	UID         int               `json:"uid"` // host user whose the files are
	GID         int               `json:"gid"`
	Tags        sandbox.Tags      `json:"tags"`
}

// unreadable is why a record cannot be read. It concerns one sandbox only.
type unreadable struct{ reason string }

func (e *unreadable) Error() string {
	return e.reason + "; nothing is done to a sandbox whose record cannot be read: repair it, " +
		"or remove the sandbox's directory by hand when nothing in it is needed"
}

func (e *unreadable) Unwrap() error { return backend.ErrInvalid }

// readRecord returns the record of handle. It is fs.ErrNotExist only when the
// sandbox's directory is not there; what is wrong with the record is
// *unreadable; any other error is about this process, not about the record.
func (st *state) readRecord(handle string) (record, error) {
	dir := sandboxesDir + "/" + handle
	rec, err := readRecordIn(st.folder, dir, handle)
	if !errors.Is(err, fs.ErrNotExist) {
		return rec, err
	}
	if _, missing := st.stat(dir); missing != nil {
		return record{}, missing
	}
	return record{}, &unreadable{fmt.Sprintf("%s/%s has no %s", st.Name(), dir, recordFile)}
}

func readRecordIn(d folder, dir, handle string) (record, error) {
	data, err := d.read(filepath.Join(dir, recordFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, err
	}
	if isExhausted(err) {
		return record{}, fmt.Errorf("%w: %w", backend.ErrUnavailable, err)
	}
	var rec record
	if err == nil {
		rec, err = decode(data, handle)
	}
	if err != nil {
		return record{}, &unreadable{fmt.Sprintf("%s: %v", filepath.Join(d.Name(), dir, recordFile), err)}
	}
	return rec, nil
}

func decode(data []byte, handle string) (record, error) {
	var rec record
	if !utf8.Valid(data) { // which Unmarshal would replace, and the next change write so
		return rec, errors.New("it holds bytes that are not UTF-8")
	}
	err := json.Unmarshal(data, &rec)
	switch {
	case err != nil && rec.Schema <= schema:
		return rec, fmt.Errorf("not a record: %w", err)
	case rec.Schema > schema: // whose fields may well have other types
		return rec, fmt.Errorf("schema %d is of a newer version; this one knows %d", rec.Schema, schema)
	case rec.Schema < 1 || rec.Incarnation == "" || rec.CreatedAt.IsZero() || rec.ExpiresAt.IsZero() || rec.Workdir == "":
		return rec, errors.New("not a whole record")
	case rec.Handle != handle:
		return rec, fmt.Errorf("it is the record of %q", rec.Handle)
	case rec.Status != statusRunning && rec.Status != statusStopping:
		return rec, fmt.Errorf("unknown status %q", rec.Status)
	}
	for _, t := range []time.Time{rec.StatusSince, rec.CreatedAt, rec.ExpiresAt} {
		if year := t.UTC().Year(); year < 0 || year > 9999 { // which no RFC 3339 text can say
			return rec, fmt.Errorf("%s is no time that can be written in UTC", t)
		}
	}
	return rec, nil
}

// encode returns the bytes of a record, which decode is known to read.
func encode(rec record) ([]byte, error) {
	for key, value := range rec.Tags {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("%w: tag %q is not UTF-8", backend.ErrInvalid, key)
		}
	}
	for key, value := range rec.Env {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, fmt.Errorf("%w: environment variable %q is not UTF-8", backend.ErrInvalid, key)
		}
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return nil, err
	}
	if len(data) >= maxFile {
		return nil, fmt.Errorf("%w: tags and environment take %d bytes, more than %d", backend.ErrInvalid, len(data), maxFile)
	}
	return append(data, '\n'), nil
}

// sandbox is what the record says to the world.
func (rec record) sandbox() sandbox.Sandbox {
	s := sandbox.Sandbox{
		Ref:        sandbox.Ref{Handle: rec.Handle, Incarnation: rec.Incarnation},
		Name:       rec.Handle,
		State:      sandbox.Running,
		StateWord:  rec.Status,
		Tags:       rec.Tags,
		TagsKnown:  true,
		CreatedAt:  rec.CreatedAt,
		StateSince: rec.StatusSince,
		ServerEnds: rec.ExpiresAt,
		Attached:   -1,
	}
	if rec.Status == statusStopping {
		s.State = sandbox.Stopping
	}
	return s
}

// broken is a sandbox whose record cannot be read.
func broken(handle, reason string) sandbox.Sandbox {
	return sandbox.Sandbox{Ref: sandbox.Ref{Handle: handle}, Name: handle, Problem: reason, Attached: -1}
}

// isEntry reports whether handle can be a name in the sandboxes directory.
func isEntry(handle string) bool {
	return handle != "" && handle != "." && handle != ".." && len(handle) <= unix.NAME_MAX && !strings.ContainsAny(handle, "/\x00")
}

// find returns the record that ref means, or ErrNotFound.
func (st *state) find(ref sandbox.Ref) (record, error) {
	if !isEntry(ref.Handle) {
		return record{}, gone(ref)
	}
	rec, err := st.readRecord(ref.Handle)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return record{}, gone(ref)
	case err != nil:
		return record{}, err
	case ref.Incarnation != "" && ref.Incarnation != rec.Incarnation:
		return record{}, fmt.Errorf("%w: %w", gone(ref), errOtherLife)
	}
	return rec, nil
}

// change edits the record that ref means, with nobody else at it. When edit
// fails or changes nothing, nothing is written.
func (st *state) change(ctx context.Context, ref sandbox.Ref, edit func(*record) error) error {
	if !isEntry(ref.Handle) {
		return gone(ref)
	}
	name := sandboxesDir + "/" + ref.Handle
	dir, err := st.openSandbox(ref)
	if err != nil {
		return err
	}
	defer dir.Close()
	lock, err := dir.lock(ctx, metaLock, exclusive)
	if errors.Is(err, fs.ErrNotExist) { // the directory is being deleted
		return gone(ref)
	}
	if err != nil {
		return err
	}
	defer lock.Close()

	switch there, err := st.same(name, dir); {
	case err != nil:
		return err
	case !there: // deleted while we waited
		return gone(ref)
	}
	rec, err := st.find(ref)
	if err != nil {
		return err
	}
	before, err := encode(rec)
	if err != nil {
		return err
	}
	if err := edit(&rec); err != nil {
		return err
	}
	after, err := encode(rec)
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	return dir.replace(recordFile, after)
}

// openSandbox opens the directory of a sandbox, readable or not.
func (st *state) openSandbox(ref sandbox.Ref) (folder, error) {
	dir, err := st.folder.folder(sandboxesDir + "/" + ref.Handle)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return folder{}, gone(ref)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EXDEV):
		return folder{}, &unreadable{fmt.Sprintf("%s is a link, a mount or not a directory", filepath.Join(st.Name(), sandboxesDir, ref.Handle))}
	case err != nil:
		return folder{}, err
	}
	return dir, nil
}
