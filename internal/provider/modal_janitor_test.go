// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// Who meets in a yard.
const (
	aTerraform = "Terraform"
	aJanitor   = "a janitor"
	aTask      = "a task"
)

// yard is a Modal app in which Terraform, janitors with one state, and a task of
// Airflow's meet, each a process of its own. A change that Terraform makes waits
// until a janitor has looked, and takes effect before that janitor acts on what it
// saw.
type yard struct {
	*workspace
	server  *emulator.Server
	bin     string
	parties map[string]emulator.Token

	looked, changed chan struct{} // a janitor waits in between
	applied         chan struct{} // closed when there are no more changes to wait for

	mu    sync.Mutex
	ended map[string][]string // by sandbox, who asked for its end
}

func newYard(t *testing.T) *yard {
	t.Helper()
	t.Parallel()
	y := &yard{
		bin: t.TempDir(), parties: make(map[string]emulator.Token), ended: make(map[string][]string),
		looked: make(chan struct{}), changed: make(chan struct{}), applied: make(chan struct{}),
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", y.bin, "../../cmd/janitor", "../../scripts/attach")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server, err := emulator.Start(emulator.Options{PollLag: 35 * time.Second, TimeoutLag: 100 * time.Hour, Watch: y.watch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	y.server = server
	for _, who := range []string{aTerraform, aJanitor, aTask} {
		y.parties[who] = server.AddToken("emulator")
	}
	y.workspace = newModalPlace(t, y.parties[aTerraform]).workspace("")
	y.env = append(y.env, server.Environ()...)
	write(t, y.config(), fmt.Appendf(nil,
		"mode: enforce\nstate: file://%s/state\nconnections: {prod: {uri: \"modal:\"}}\ngrace: {retired: 1ms}\n", y.bin))
	return y
}

// changes are the calls by which Terraform changes a sandbox.
var changes = []string{"SandboxCreateV2", "SandboxTagsSetV2", "SandboxTerminateV2"}

// watch lets changes and sweeps meet.
func (y *yard) watch(call emulator.Call) {
	by := func(who string) bool { return call.TokenID == y.parties[who].ID }
	if end, ok := call.Request.(*pb.SandboxTerminateRequest); ok && !call.After {
		y.mark(call, end.GetSandboxId())
	}
	switch changes := slices.Contains(changes, call.Method); {
	case by(aJanitor) && call.After && looksAtAll(call):
		y.meet(y.looked, nil)
		y.meet(nil, y.changed)
	case by(aTerraform) && changes && !call.After:
		y.meet(nil, y.looked)
	case by(aTerraform) && changes:
		if call.Method == "SandboxTagsSetV2" {
			y.sweep(75) // another holds the state
		}
		y.meet(y.changed, nil)
	}
}

// looksAtAll is the first page of a list, which holds all; a list with a filter is
// the fresh read of one sandbox.
func looksAtAll(call emulator.Call) bool {
	list, ok := call.Request.(*pb.SandboxListRequest)
	return ok && list.GetBeforeTimestamp() == 0 && len(list.GetTags()) == 0
}

// meet sends or receives, while there is somebody to meet.
func (y *yard) meet(send chan<- struct{}, receive <-chan struct{}) {
	select {
	case send <- struct{}{}:
	case <-receive:
	case <-y.applied:
	}
}

func (y *yard) mark(call emulator.Call, handle string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	for who, token := range y.parties {
		if token.ID == call.TokenID {
			y.ended[handle] = append(y.ended[handle], who)
		}
	}
}

// program is one of ours, with the credentials of who runs it.
func (y *yard) program(who, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(y.t.Context(), filepath.Join(y.bin, name), args...)
	token := y.parties[who]
	cmd.Env = append(slices.Clip(y.env), "MODAL_TOKEN_ID="+token.ID, "MODAL_TOKEN_SECRET="+token.Secret)
	return cmd
}

// sweep runs a janitor, which must exit with that status.
func (y *yard) sweep(want int) {
	janitor := y.program(aJanitor, "janitor", "sweep", "--auto-approve", "--config", y.config())
	if out, err := janitor.CombinedOutput(); janitor.ProcessState.ExitCode() != want {
		y.t.Errorf("a sweep: %v, want exit status %d\n%s", err, want, out)
	}
}

func (y *yard) config() string { return filepath.Join(y.bin, "janitor.yaml") }

// abandon leaves a sandbox of an Airflow task that is past its end.
func (y *yard) abandon() string {
	created := y.server.Now().Add(-3 * time.Hour)
	name := sandbox.Name(sandbox.NewMark())
	return y.seed(emulator.Seed{Name: name, Created: created, Timeout: time.Hour, Tags: map[string]string{
		airflow.TagSandbox: name, airflow.TagExpiresAt: airflow.FormatExpiry(created.Add(time.Hour)),
	}})
}

func (y *yard) seed(seed emulator.Seed) string {
	seed.App = "airflow-sandbox"
	handles, err := y.server.Seed(seed)
	if err != nil {
		y.t.Error(err)
		return ""
	}
	return handles[0]
}

// attach lets a task of Airflow's hold a sandbox until release.
func (y *yard) attach(handle, owner string) (release func()) {
	y.t.Helper()
	cmd := y.program(aTask, "attach", "modal:", handle, owner, task)
	out, err := cmd.StdoutPipe()
	if err != nil {
		y.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		y.t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "attached\n" {
		y.t.Fatalf("it says %q: %v", line, err)
	}
	return func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			y.t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			y.t.Error(err)
		}
	}
}

// applies has Terraform make so many sandboxes of that lifetime, and returns them.
func (y *yard) applies(count int, lifetime string) (handles []string) {
	y.t.Helper()
	y.configure(fmt.Sprintf(`
resource "sandbox_instance" "it" {
  count          = %d
  connection_uri = %q
  owner          = "terraform:prod/${count.index}"
  lifetime       = %q
}
output "handles" { value = sandbox_instance.it[*].handle }
`, count, y.uri(), lifetime))
	y.apply()
	if err := json.Unmarshal([]byte(y.must("output", "-json", "handles")), &handles); err != nil {
		y.t.Fatal(err)
	}
	return handles
}

// check checks that each sandbox runs, or that only by has asked for its end, once.
func (y *yard) check(handles []string, by string) {
	y.t.Helper()
	running := make(map[string]bool)
	for _, s := range y.server.Sandboxes() {
		running[s.ID] = s.Running
	}
	y.mu.Lock()
	defer y.mu.Unlock()
	for _, handle := range handles {
		if asked := strings.Join(y.ended[handle], ", "); asked != by || running[handle] != (by == "") {
			y.t.Errorf("%s runs is %t, and its end was asked for by %q, want %q", handle, running[handle], asked, by)
		}
	}
}

// TestJanitorsBesideAnApplyHarmNothing goes through the life of four sandboxes:
// they are made, made anew while a task holds one of them, and two are destroyed.
func TestJanitorsBesideAnApplyHarmNothing(t *testing.T) {
	y := newYard(t)
	foreign := y.seed(emulator.Seed{Timeout: time.Hour, Tags: map[string]string{"team": "research"}})
	var abandoned []string
	var sweeping sync.WaitGroup
	sweeping.Go(func() {
		for going := true; going; {
			abandoned = append(abandoned, y.abandon())
			y.sweep(0)
			select {
			case <-y.applied:
				going = false
			default:
			}
		}
	})
	over := sync.OnceFunc(func() { close(y.applied); sweeping.Wait() })
	defer over()

	first := y.applies(4, "1h")
	release := y.attach(first[0], "terraform:prod/0")
	defer release()
	second := y.applies(4, "2h")
	third := y.applies(2, "2h")
	over()
	y.quiet()
	for range 2 { // what was replaced must be free for two looks
		y.sweep(0)
	}

	stand := append([]string{foreign, first[0]}, third...)
	dead := append(abandoned, first[1:]...)
	destroyed := second[2:]
	y.check(stand, "")
	y.check(dead, aJanitor)
	y.check(destroyed, aTerraform)
	if !slices.Equal(third, second[:2]) {
		t.Errorf("after %v there are %v: more was replaced than was asked for", second, third)
	}
	if known, all := len(stand)+len(dead)+len(destroyed), len(y.server.Sandboxes()); known != all {
		t.Errorf("%d sandboxes were made, and %d are known of", all, known)
	}
}
