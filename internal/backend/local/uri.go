// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

// Package local keeps sandboxes on this Linux host: each is a directory with
// one JSON file, and each command in it runs isolated by package engine, with
// nothing left running between two commands. Nothing ends a sandbox by itself:
// after its end it only refuses to run commands, and waits to be destroyed.
//
// The state directory is the whole truth and can be read with cat:
//
//	instance.json            who this directory is: a random identity and the machine
//	next-uid                 the host user of the next sandbox, when root owns the directory
//	sandboxes/HANDLE/        meta.json, meta.lock, run.lock, open.lock, work/
//	images/sha256-HEX/       a tarball, unpacked once
//	staging/, trash/         what is being made, what is being deleted
//
// A record that cannot be read concerns one sandbox: it is listed with its
// problem, and nothing here deletes it.
package local

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// Vendor is the embedded default: "local:" is the user's state directory,
// "local:///absolute/dir" any other.
var Vendor = backend.Vendor{
	Name:    "local",
	Schemes: []string{"local"},
	Parse:   parse,
	Open:    open,
}

func parse(u *url.URL) (backend.Connection, error) {
	conn := backend.Connection{Scheme: u.Scheme}
	switch {
	case u.Opaque != "":
		return conn, invalidURI("the directory is relative; write it as local:///absolute/dir")
	case u.Host != "":
		return conn, invalidURI("it names a host; an absolute directory takes three slashes, local:///absolute/dir, and local: is this host only")
	case u.Path == "":
		return conn, nil
	case strings.ContainsRune(u.Path, 0):
		return conn, invalidURI("the directory holds a NUL byte")
	case slices.Contains(strings.Split(u.Path, "/"), ".."):
		return conn, invalidURI("the directory must not hold \"..\"")
	}
	conn.Path = path.Clean(u.Path)
	if conn.Path == "/" {
		return conn, invalidURI("the root directory cannot be a state directory; write local: or local:///absolute/dir")
	}
	return conn, nil
}

func invalidURI(reason string) error {
	return fmt.Errorf("%w local connection URI: %s", backend.ErrInvalid, reason)
}
