// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"path"
	"strings"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
)

// How long one attempt of a call may take.
const (
	readWithin   = 20 * time.Second
	createWithin = 10 * time.Minute // a V2 create answers when the sandbox is scheduled
)

// repeatable are the calls that may be made again although they took effect: they
// read, they end what has ended already, or they find what they made.
var repeatable = map[string]bool{
	"AuthTokenGet":                  true,
	"AppGetOrCreate":                true,
	"WorkspaceNameLookup":           true,
	"EnvironmentGetOrCreate":        true,
	"ImageFromId":                   true,
	"ImageGetOrCreate":              true,
	"ImageDelete":                   true,
	"ImagePublish":                  true,
	"MountBatchedCheckExistence":    true,
	"SecretGetOrCreate":             true, // one too many vanishes by itself
	"SandboxGetCommandRouterAccess": true,
	"SandboxGetFromName":            true,
	"SandboxGetTaskId":              true,
	"SandboxList":                   true,
	"SandboxTagsGet":                true,
	"SandboxTerminate":              true,
	"SandboxWait":                   true,
	"TaskGetCommandRouterAccess":    true,
}

// callOf describes a call by its gRPC method, such as
// "/modal.client.ModalClient/SandboxListV2".
func callOf(method string) backend.Call {
	call := backend.Call{Verb: path.Base(method), Deadline: readWithin}
	name := strings.TrimSuffix(call.Verb, "V2")
	call.Idempotent = repeatable[name]
	if name == "SandboxCreate" {
		call.Deadline = createWithin
	}
	return call
}
