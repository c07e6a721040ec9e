// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
	"github.com/taskowned/terraform-provider-sandbox/internal/provider"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// world is one place for sandboxes, the provider's clock, and a place for faults.
// Terraform, the provider and the backend are the real ones.
type world struct {
	t      *testing.T
	place  string       // connection URI
	dir    string       // state directory of a local place
	head   string       // what every configuration begins with
	sets   connect.Sets // with which the tests look past the provider
	clock  *clock.Fake
	caller *backend.Caller

	ambient map[string]string // environment variables of the provider; nil: the process's own

	mu    sync.Mutex
	fault func(ctx context.Context, call backend.Call) error
}

// newWorld is a state directory on this host.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := emptyWorld(t)
	above := t.TempDir()
	// Where root runs the tests, the users of sandboxes must reach theirs.
	for _, dir := range []string{above, filepath.Dir(above)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.dir = filepath.Join(above, "state")
	w.place = "local://" + w.dir
	return w
}

func emptyWorld(t *testing.T) *world {
	w := &world{t: t, clock: clock.NewFake(clock.System().Now())}
	w.caller = &backend.Caller{MaxRetries: -1, Intercept: w.intercept}
	return w
}

func (w *world) uri() string { return w.place }

func (w *world) options() connect.Options {
	options := connect.Options{Caller: w.caller}
	if w.ambient != nil {
		options.Lookup = func(name string) (string, bool) { value, ok := w.ambient[name]; return value, ok }
	}
	return options
}

func (w *world) intercept(ctx context.Context, call backend.Call, attempt func(context.Context) error) error {
	w.mu.Lock()
	fault := w.fault
	w.mu.Unlock()
	if fault != nil {
		if err := fault(ctx, call); err != nil {
			return err
		}
	}
	return attempt(ctx)
}

// failing makes every call of the verb fail from now on; an empty verb ends it.
func (w *world) failing(verb string) func() {
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.fault = func(_ context.Context, call backend.Call) error {
			if call.Verb == verb {
				return errors.New("the disk said no")
			}
			return nil
		}
	}
}

func (w *world) factories() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"sandbox": providerserver.NewProtocol6WithError(provider.New("test", w.clock, w.options())()),
	}
}

// run goes through the steps, destroys what is left, and demands that nothing is
// but what was retired. Steps that must fail must do so soon.
func (w *world) run(steps ...resource.TestStep) {
	w.t.Helper()
	failsSoon := func() {}
	for i := range steps {
		if steps[i].Config != "" {
			steps[i].Config = w.head + steps[i].Config
		}
		before, fails := steps[i].PreConfig, steps[i].ExpectError != nil
		steps[i].PreConfig = func() {
			failsSoon()
			if before != nil {
				before()
			}
			failsSoon = func() {}
			if fails {
				failsSoon = w.soon(fmt.Sprintf("step %d", i+1))
			}
		}
	}
	defer func() { failsSoon() }()
	resource.UnitTest(w.t, resource.TestCase{
		ProtoV6ProviderFactories: w.factories(),
		Steps:                    steps,
		CheckDestroy: func(*terraform.State) error {
			if _, err := os.Stat(w.dir); w.dir != "" && errors.Is(err, os.ErrNotExist) {
				return nil
			}
			left := slices.DeleteFunc(w.sandboxes(), retired)
			if len(left) > 0 {
				return fmt.Errorf("%d sandboxes are left: %v", len(left), left)
			}
			return nil
		},
	})
}

// promptly is how soon bad input must be told of, the work of Terraform on a
// busy machine included.
const promptly = 45 * time.Second

// soon demands that what is called what is over soon, when the result is called.
func (w *world) soon(what string) (over func()) {
	began := clock.System().Now()
	return func() {
		w.t.Helper()
		if took := clock.System().Now().Sub(began); took > promptly {
			w.t.Errorf("%s took %s, which is more than %s", what, took, promptly)
		}
	}
}

// instance is the configuration of sandbox_instance.it with an hour to live,
// and what else it has.
func (w *world) instance(attributes ...string) string {
	return fmt.Sprintf(`
resource "sandbox_instance" "it" {
  connection_uri = %q
  lifetime       = "1h"
  %s
}`, w.uri(), strings.Join(attributes, "\n  "))
}

// backend looks at the same place past the provider and its faults.
func (w *world) backend() backend.Backend {
	w.t.Helper()
	conn, err := connect.Parse(w.uri())
	if err != nil {
		w.t.Fatal(err)
	}
	b, err := connect.Open(conn, connect.Options{Sets: w.sets})
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// prepare makes the state directory.
func (w *world) prepare() {
	w.t.Helper()
	if err := w.backend().(backend.Preparer).Prepare(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) sandboxes() []sandbox.Sandbox {
	w.t.Helper()
	var all []sandbox.Sandbox
	for s, err := range w.backend().List(w.t.Context()) {
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func retired(s sandbox.Sandbox) bool { return s.Tags[sandbox.TagRetiredAt] != "" }

// only is the one sandbox that there is.
func (w *world) only() sandbox.Sandbox {
	w.t.Helper()
	all := w.sandboxes()
	if len(all) != 1 {
		w.t.Fatalf("there are %d sandboxes, want 1: %v", len(all), all)
	}
	return all[0]
}

// unchanged demands that the only sandbox is the one of before, with its tags.
func (w *world) unchanged(before sandbox.Sandbox) {
	w.t.Helper()
	if now := w.only(); now.Handle != before.Handle || !maps.Equal(now.Tags, before.Tags) {
		w.t.Errorf("%s with %v became %s with %v", before.Handle, before.Tags, now.Handle, now.Tags)
	}
}

// standing is the one sandbox that is not retired.
func (w *world) standing() sandbox.Sandbox {
	w.t.Helper()
	all := slices.DeleteFunc(w.sandboxes(), retired)
	if len(all) != 1 {
		w.t.Fatalf("%d sandboxes stand, want 1: %v", len(all), all)
	}
	return all[0]
}

// retag changes the tags of the sandbox that stands behind Terraform's back.
func (w *world) retag(edit func(sandbox.Tags)) func() {
	return func() {
		w.t.Helper()
		if err := backend.EditTags(w.t.Context(), w.backend(), w.standing().Ref, edit); err != nil {
			w.t.Fatal(err)
		}
	}
}

// tagged checks tags of the only sandbox: a nil value means that there is none.
func (w *world) tagged(want map[string]any) resource.TestCheckFunc {
	return func(*terraform.State) error {
		var wrong []error
		tags := w.only().Tags
		for key, value := range want {
			got, there := tags[key]
			switch {
			case value == nil && there:
				wrong = append(wrong, fmt.Errorf("tag %s is %q, want none", key, got))
			case value != nil && (!there || got != value):
				wrong = append(wrong, fmt.Errorf("tag %s is %q (%t), want %q", key, got, there, value))
			}
		}
		return errors.Join(wrong...)
	}
}

// record is the only sandbox as it stands on disk.
func (w *world) record() string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, "sandboxes", w.only().Handle, "meta.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// rewrite changes the record of the only sandbox as an editor does.
func (w *world) rewrite(edit func(record map[string]any)) {
	w.t.Helper()
	var record map[string]any
	if err := json.Unmarshal([]byte(w.record()), &record); err != nil {
		w.t.Fatal(err)
	}
	edit(record)
	data, err := json.Marshal(record)
	if err != nil {
		w.t.Fatal(err)
	}
	write(w.t, filepath.Join(w.dir, "sandboxes", w.only().Handle, "meta.json"), data)
}

// envOf checks the environment the only sandbox was born with.
func (w *world) envOf(want map[string]string) error {
	var record struct{ Env map[string]string }
	if err := json.Unmarshal([]byte(w.record()), &record); err != nil {
		return err
	}
	if !maps.Equal(record.Env, want) {
		return fmt.Errorf("the environment is %v, want %v", record.Env, want)
	}
	return nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
