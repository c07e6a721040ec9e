// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

// modalServer is the one emulator of all tests: where it is, Modal's client
// reads from the environment of the process. Each test has a workspace of its
// own.
var modalServer *emulator.Server

// badCommand fails the build of an image.
const badCommand = "RUN pip install no-such-package"

// longestTag is how many bytes of a name or value Modal takes here. Where its
// limit is, nobody knows.
const longestTag = 500

// withModal runs the tests beside the emulator, and with no credential of
// anybody in the environment.
func withModal(run func() int) (code int) {
	server, err := emulator.Start(emulator.Options{FailBuilds: []string{badCommand}, MaxTagBytes: longestTag})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	modalServer = server
	for _, variable := range server.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if strings.Contains(name, "TOKEN") {
			value = ""
		}
		_ = os.Setenv(name, value)
	}
	_ = os.Unsetenv("MODAL_TOKEN_ID")
	_ = os.Unsetenv("MODAL_TOKEN_SECRET")
	code = run()
	if err := server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// newModalWorld is the default app of a new workspace, with its credentials as
// the set "lab" of the provider.
func newModalWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newModalPlace(t, modalServer.AddToken(workspaceOf(t)))
}

// newModalPlace is the default app of the workspace that token belongs to.
func newModalPlace(t *testing.T, token emulator.Token) *world {
	t.Helper()
	w := emptyWorld(t)
	w.place = "modal:?credentials=lab"
	w.head = credentials("lab", token)
	w.sets = connect.Sets{"lab": {"modal": backend.Credentials{"token_id": token.ID, "token_secret": token.Secret}}}
	return w
}

// workspaces has a name for each run of a test: -count makes several.
var workspaces sync.Map

// workspaceOf is the workspace of a run of a test.
func workspaceOf(t *testing.T) string {
	name := strings.ReplaceAll(strings.TrimPrefix(t.Name(), "Test"), "/", "-")
	workspace, _ := workspaces.LoadOrStore(t, fmt.Sprintf("%.20s-%08x", name, rand.Uint32()))
	return fmt.Sprint(workspace)
}

func credentials(name string, token emulator.Token) string {
	return fmt.Sprintf(`
provider "sandbox" {
  credentials = { %s = { modal = { token_id = %q, token_secret = %q } } }
}
`, name, token.ID, token.Secret)
}

// unanswered lets a call never be answered in this workspace, before or after it
// takes effect, until it is healed.
func (w *world) unanswered(method string, after bool) (heal func()) {
	return modalServer.Fail(method, emulator.Fault{After: after, Stall: true, Times: -1, Workspace: workspaceOf(w.t)})
}
