// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package backendtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

const (
	plainLifetime  = 10 * time.Minute
	commandTimeout = 30 * time.Second
	// slack is how much later than its timeout a command may be reported.
	slack = 30 * time.Second
)

// place is the backend under test, with the faults below it.
type place struct {
	backend.Backend
	Factory
	caps   backend.Capabilities
	caller *backend.Caller
	faults *faults
}

// open opens the backend over a Caller of its own.
func open(t *testing.T, f Factory, tune ...func(*backend.Caller)) *place {
	t.Helper()
	faults := new(faults)
	// Most of what is tried again here was broken on purpose: try soon, and more often.
	caller := &backend.Caller{Intercept: faults.intercept, MinWait: 20 * time.Millisecond, MaxRetries: 6}
	for _, set := range tune {
		set(caller)
	}
	p := &place{Backend: f.Open(t, caller), Factory: f, caller: caller, faults: faults}
	p.caps = p.Capabilities()
	if preparer, ok := p.Backend.(backend.Preparer); ok {
		if err := preparer.Prepare(t.Context()); err != nil {
			t.Fatalf("Prepare: %v", err)
		}
	}
	return p
}

// spec is the plainest sandbox of the place.
func (p *place) spec() sandbox.Spec {
	spec := p.Spec
	spec.Lifetime = max(cmp.Or(spec.Lifetime, plainLifetime), p.caps.LifetimeMin)
	if p.caps.LifetimeMax > 0 {
		spec.Lifetime = min(spec.Lifetime, p.caps.LifetimeMax)
	}
	return spec
}

// workdir is where commands of the plainest sandbox start.
func (p *place) workdir() string {
	return cmp.Or(p.Spec.Workdir, p.caps.DefaultWorkdir, sandbox.DefaultWorkdir)
}

// in returns the absolute path of name in the working directory.
func (p *place) in(name string) string { return strings.TrimSuffix(p.workdir(), "/") + "/" + name }

// request asks for spec; the tags are pairs of key and value.
func (p *place) request(spec sandbox.Spec, tags sandbox.Tags) backend.Request {
	tags = tags.Clone()
	tags[TagSuite] = "true"
	req := backend.NewRequest(spec, tags, clock.System().Now())
	if p.caps.Tags == backend.NoTags {
		req.Tags = nil
	}
	return req
}

// create makes a plain sandbox that is gone when the test ends.
func (p *place) create(t *testing.T, tags sandbox.Tags) sandbox.Sandbox {
	t.Helper()
	return p.createFrom(t, p.request(p.spec(), tags))
}

func (p *place) createFrom(t *testing.T, req backend.Request) sandbox.Sandbox {
	t.Helper()
	made, err := backend.Create(t.Context(), p.Backend, req)
	if err != nil {
		t.Fatalf("Create(%s): %v", req.Name, err)
	}
	t.Cleanup(func() { p.gone(t, made.Ref) })
	return made
}

// gone destroys the sandbox and waits until it is gone.
func (p *place) gone(t *testing.T, ref sandbox.Ref) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := p.Destroy(ctx, ref); err != nil {
		t.Errorf("Destroy(%s): %v", ref.Handle, err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, p.settleTime())
	defer cancel()
	if err := backend.WaitGone(ctx, p.Backend, ref); err != nil {
		t.Errorf("WaitGone: %v", err)
	}
}

// alive returns what lives under mark.
func (p *place) alive(t *testing.T, mark string) []sandbox.Sandbox {
	t.Helper()
	found, err := p.Find(t.Context(), mark)
	if err != nil {
		t.Fatalf("Find(%s): %v", mark, err)
	}
	return slices.DeleteFunc(found, func(s sandbox.Sandbox) bool {
		return s.State == sandbox.Stopping || s.State == sandbox.Ended
	})
}

// wantNothing fails unless nothing lives under mark, within the time that the
// backend takes to forget.
func (p *place) wantNothing(t *testing.T, mark string) {
	t.Helper()
	var found []sandbox.Sandbox
	if !p.eventually(t, func() bool { found = p.alive(t, mark); return len(found) == 0 }) {
		t.Errorf("%d sandboxes still live under the mark %s, such as %s; want none", len(found), mark, found[0].Handle)
		for _, s := range found {
			p.gone(t, s.Ref)
		}
	}
}

// eventually polls until done, within settleTime.
func (p *place) eventually(t *testing.T, done func() bool) bool {
	t.Helper()
	deadline := time.NewTimer(p.settleTime())
	defer deadline.Stop()
	for wait := 10 * time.Millisecond; !done(); wait = min(2*wait, 2*time.Second) {
		select {
		case <-deadline.C:
			return done()
		case <-time.After(wait):
		}
	}
	return true
}

// settleTime is how long the suite waits for what a backend says it does after
// a while: twice as long as it says.
func (p *place) settleTime() time.Duration {
	return 2 * (cmp.Or(p.caps.WaitGoneTimeout, time.Minute) + p.caps.FindLag)
}

// exec runs a command that the backend must be able to run.
func (p *place) exec(t *testing.T, ref sandbox.Ref, cmd backend.Command) backend.Result {
	t.Helper()
	cmd.Timeout = cmp.Or(cmd.Timeout, commandTimeout)
	result, err := p.Exec(t.Context(), ref, cmd)
	if err != nil {
		t.Fatalf("Exec(%q): %v", cmd.Argv, err)
	}
	return result
}

// sh runs a script that must succeed and returns what it printed.
func (p *place) sh(t *testing.T, ref sandbox.Ref, script string) string {
	t.Helper()
	result := p.exec(t, ref, backend.Command{Argv: []string{"sh", "-c", script}})
	if result.ExitCode != 0 {
		t.Fatalf("sh -c %q: exit code %d, stderr %q", script, result.ExitCode, result.Stderr)
	}
	return string(result.Stdout)
}

func (p *place) write(t *testing.T, ref sandbox.Ref, path string, content []byte) {
	t.Helper()
	if err := p.WriteFile(t.Context(), ref, path, bytes.NewReader(content)); err != nil {
		t.Fatalf("WriteFile(%s): %v", path, err)
	}
}

func (p *place) read(t *testing.T, ref sandbox.Ref, path string) []byte {
	t.Helper()
	var content bytes.Buffer
	n, err := p.ReadFile(t.Context(), ref, path, 16<<20, &content)
	if err != nil {
		t.Fatalf("ReadFile(%s): %v", path, err)
	}
	if n != int64(content.Len()) {
		t.Errorf("ReadFile(%s) = %d, but wrote %d bytes", path, n, content.Len())
	}
	return content.Bytes()
}

func (p *place) get(t *testing.T, ref sandbox.Ref) sandbox.Sandbox {
	t.Helper()
	s, err := p.Get(t.Context(), ref)
	if err != nil {
		t.Fatalf("Get(%s): %v", ref.Handle, err)
	}
	return s
}

// tools are the four uses of a sandbox that Airflow's toolset has.
func (p *place) tools(ref sandbox.Ref) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Exec": func(ctx context.Context) error {
			_, err := p.Exec(ctx, ref, backend.Command{Argv: []string{"true"}, Timeout: commandTimeout})
			return err
		},
		"ReadFile": func(ctx context.Context) error {
			_, err := p.ReadFile(ctx, ref, p.in("x"), 1, new(bytes.Buffer))
			return err
		},
		"WriteFile": func(ctx context.Context) error {
			return p.WriteFile(ctx, ref, p.in("x"), strings.NewReader("x"))
		},
		"ListDirectory": func(ctx context.Context) error {
			_, err := p.ListDirectory(ctx, ref, p.workdir())
			return err
		},
	}
}

// wantError fails unless err is of one of the classes.
func wantError(t *testing.T, what string, err error, classes ...error) {
	t.Helper()
	for _, class := range classes {
		if errors.Is(err, class) {
			return
		}
	}
	t.Errorf("%s = %v, want %v", what, err, errors.Join(classes...))
}
