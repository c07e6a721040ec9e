// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
)

// helperPath is the program by which the clients touch files: Modal puts it into
// every sandbox, and there is no other way.
const helperPath = "/__modal/.bin/modal-sandbox-fs-tools"

// helperScript plays the program inside the sandbox, with the sandbox's own eyes
// and rights. What it prints on standard error is the kind of the error.
//
//go:embed helper.sh
var helperScript string

// helper is one operation on files.
type helper struct {
	operation string
	path      string
	listing   bytes.Buffer // of ListFiles and Stat
	kind      bytes.Buffer // of the error
}

// operand is the parameters of any operation.
type operand struct {
	Path      string `json:"path"`
	Parents   *bool  `json:"parents"`
	Recursive bool   `json:"recursive"`
}

// newHelper returns the operation that the program's one argument asks for, and
// the command that does it.
func newHelper(args []string, workdir string) (*helper, []string) {
	var request map[string]operand
	h := &helper{}
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &request) != nil || len(request) != 1 {
		return h, h.command("Fail", "NotSupported")
	}
	var on operand
	for h.operation, on = range request { // the only one
		h.path = on.Path
	}
	if h.path = path.Clean(h.path); !path.IsAbs(h.path) {
		return h, h.command("Fail", "NotFound")
	}
	switch h.operation {
	case "WriteFile", "MakeDirectory", "Remove":
		// What is written elsewhere would vanish with this very command.
		if h.path != workdir && !strings.HasPrefix(h.path, workdir+"/") {
			return h, h.command("Fail", "PermissionDenied")
		}
	}
	flag := on.Recursive || h.operation == "MakeDirectory" && (on.Parents == nil || *on.Parents)
	return h, h.command(h.operation, h.path, strconv.FormatBool(flag))
}

func (h *helper) command(args ...string) []string {
	return append([]string{"/bin/sh", "-c", helperScript, "sh"}, args...)
}

func (h *helper) lists() bool { return h.operation == "ListFiles" || h.operation == "Stat" }

// capture takes what has to be translated before the client sees it.
func (h *helper) capture(spec *engine.Spec) {
	spec.Stderr = &h.kind
	if h.lists() {
		spec.Stdout = &h.listing
	}
}

// conclude writes what the client is to see, and returns the exit code.
func (h *helper) conclude(code int, stdout, stderr *spool) int {
	if code == 0 && h.lists() {
		entries, err := parseEntries(h.listing.String())
		var document []byte
		if err == nil {
			document, err = h.encode(entries)
		}
		if err == nil {
			_, _ = stdout.Write(document)
			return 0
		}
		h.kind.WriteString("Other")
		code = 1
	}
	if code != 0 {
		document, _ := json.Marshal(map[string]string{ // strings always marshal
			"error_kind": h.kind.String(), "message": describe(h.kind.String()), "detail": h.operation + " " + h.path,
		})
		_, _ = stderr.Write(document)
	}
	return code
}

func (h *helper) encode(entries []entry) ([]byte, error) {
	if h.operation == "ListFiles" {
		return json.Marshal(entries)
	}
	if len(entries) != 1 {
		return nil, fmt.Errorf("%d entries", len(entries))
	}
	return json.Marshal(entries[0])
}

// describe says a kind of error in words.
func describe(kind string) string {
	switch kind {
	case "NotFound":
		return "No such file or directory"
	case "NotDirectory":
		return "Not a directory"
	case "IsDirectory":
		return "Is a directory"
	case "PathAlreadyExists":
		return "Path already exists"
	case "DirectoryNotEmpty":
		return "Directory not empty"
	case "PermissionDenied":
		return "Permission denied"
	case "NotSupported":
		return "Operation not supported"
	}
	return "The file tool failed"
}

// entry is a file as the clients know it.
type entry struct {
	Name          string  `json:"name"`
	Path          string  `json:"path"`
	Type          string  `json:"type"`
	Size          int64   `json:"size"`
	Mode          uint64  `json:"mode"`
	Permissions   string  `json:"permissions"`
	Owner         string  `json:"owner"`
	Group         string  `json:"group"`
	ModifiedTime  float64 `json:"modified_time"`
	SymlinkTarget *string `json:"symlink_target"`
}

// entryFields is how many fields the script prints for each entry, each ended by
// a NUL.
const entryFields = 10

func parseEntries(listing string) ([]entry, error) {
	fields := strings.Split(listing, "\x00")
	if len(fields)%entryFields != 1 {
		return nil, fmt.Errorf("%d fields", len(fields))
	}
	entries := []entry{}
	for ; len(fields) > entryFields; fields = fields[entryFields:] {
		e := entry{
			Name: fields[0], Path: fields[1], Type: entryType(fields[2]),
			Permissions: fields[5], Owner: fields[6], Group: fields[7],
		}
		var err [3]error
		e.Size, err[0] = strconv.ParseInt(fields[3], 10, 64)
		e.Mode, err[1] = strconv.ParseUint(fields[4], 8, 32)
		e.ModifiedTime, err[2] = strconv.ParseFloat(fields[8], 64)
		for _, err := range err {
			if err != nil {
				return nil, err
			}
		}
		if e.Type == "symlink" {
			e.SymlinkTarget = &fields[9]
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func entryType(letter string) string {
	switch letter {
	case "d":
		return "directory"
	case "l":
		return "symlink"
	}
	return "file"
}
