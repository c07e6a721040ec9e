// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	"github.com/taskowned/terraform-provider-sandbox/internal/engine"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// start is where the clock of most tests stands.
var start = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// place returns a directory that is not made yet and that the users of
// sandboxes can reach.
func place(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for _, open := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(open, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "state")
}

// testHost returns a prepared backend on dir whose clock stands at start. It
// believes that the engine isolates, and must not be asked to run anything.
func testHost(t testing.TB, dir string) (*host, *clock.Fake) {
	t.Helper()
	clk := clock.NewFake(start)
	h := newHost(dir, &backend.Caller{}, clk)
	h.engine = &engine.Engine{}
	if err := h.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h, clk
}

// realHost returns a backend that runs commands, by the real clock.
func realHost(t testing.TB) *host {
	t.Helper()
	return newHost(place(t), &backend.Caller{}, clock.System())
}

func request(h *host, tags sandbox.Tags) backend.Request {
	return backend.NewRequest(sandbox.Spec{Lifetime: time.Hour}, tags, h.clock.Now())
}

func create(t testing.TB, h *host, tags sandbox.Tags) sandbox.Sandbox {
	t.Helper()
	return createFrom(t, h, request(h, tags))
}

func createFrom(t testing.TB, h *host, req backend.Request) sandbox.Sandbox {
	t.Helper()
	made, err := backend.Create(t.Context(), h, req)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func list(t testing.TB, h *host) []sandbox.Sandbox {
	t.Helper()
	var all []sandbox.Sandbox
	for s, err := range h.List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

// wantError fails unless err is of the class and says so.
func wantError(t *testing.T, err, class error, says string) {
	t.Helper()
	if !errors.Is(err, class) || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v; want %v, saying %q", err, class, says)
	}
}

// everyUse is each operation on the sandbox ref.
func everyUse(h *host, ref sandbox.Ref) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Check": func(ctx context.Context) error { _, err := h.Check(ctx); return err },
		"List": func(ctx context.Context) error {
			for _, err := range h.List(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Leftovers": func(ctx context.Context) error {
			for _, err := range h.Leftovers(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Get":        func(ctx context.Context) error { _, err := h.Get(ctx, ref); return err },
		"Find":       func(ctx context.Context) error { _, err := h.Find(ctx, "mark"); return err },
		"SetTags":    func(ctx context.Context) error { return h.SetTags(ctx, ref, sandbox.Tags{}) },
		"EditTags":   func(ctx context.Context) error { return h.EditTags(ctx, ref, func(sandbox.Tags) {}) },
		"Renew":      func(ctx context.Context) error { _, err := h.Renew(ctx, ref, start.Add(2*time.Hour)); return err },
		"Network":    func(ctx context.Context) error { _, _, err := h.Network(ctx, ref); return err },
		"SetNetwork": func(ctx context.Context) error { return h.SetNetwork(ctx, ref, sandbox.NetworkPolicy{}) },
		"Destroy":    func(ctx context.Context) error { return h.Destroy(ctx, ref) },
		"Exec": func(ctx context.Context) error {
			_, err := h.Exec(ctx, ref, backend.Command{Argv: []string{"true"}, Timeout: time.Second})
			return err
		},
		"ReadFile": func(ctx context.Context) error {
			_, err := h.ReadFile(ctx, ref, "/workspace/x", 1, io.Discard)
			return err
		},
		"WriteFile":     func(ctx context.Context) error { return h.WriteFile(ctx, ref, "/workspace/x", strings.NewReader("")) },
		"ListDirectory": func(ctx context.Context) error { _, err := h.ListDirectory(ctx, ref, "/workspace"); return err },
		"HasImage":      func(ctx context.Context) error { _, err := h.HasImage(ctx, hostImage); return err },
	}
}

func TestMissingStateDirectoryIsAnErrorAndNeverEmpty(t *testing.T) {
	unprepared := place(t)
	if err := os.Mkdir(unprepared, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"missing": place(t), "not prepared": unprepared} {
		h := newHost(dir, &backend.Caller{}, clock.NewFake(start))
		for what, use := range everyUse(h, sandbox.Ref{Handle: "taskowned-x"}) {
			t.Run(name+"/"+what, func(t *testing.T) {
				err := use(t.Context())
				wantError(t, err, backend.ErrUnavailable, "the first `terraform apply` makes it")
				wantError(t, err, backend.ErrUnavailable, "gone for good, so are they: take what Terraform's state names of it out with `terraform state rm ADDRESS`")
				if errors.Is(err, backend.ErrNotFound) {
					t.Errorf("%v says that the sandbox is gone", err)
				}
			})
		}
	}
}

func TestStateDirectoryThatIsNotOursIsRefused(t *testing.T) {
	const other = `{"schema": 1, "id": "abc", "machine": "0123456789abcdef"}`
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string)
		class error
		says  string
	}{
		"a link": {func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+"-moved"))
			must(t, os.Symlink(dir+"-moved", dir))
		}, backend.ErrInvalid, "link"},
		"a file": {func(t *testing.T, dir string) {
			must(t, os.Rename(dir, dir+"-moved"))
			must(t, os.WriteFile(dir, nil, 0o600))
		}, backend.ErrInvalid, "not a directory"},
		"writable by others":   {func(t *testing.T, dir string) { must(t, os.Chmod(dir, 0o777)) }, backend.ErrInvalid, "chmod go-w"},
		"of another machine":   {spoilInstance(other), backend.ErrConflict, "made on another machine"},
		"of a newer version":   {spoilInstance(`{"schema": 2, "id": "abc"}`), backend.ErrUnsupported, "newer version"},
		"with a torn identity": {spoilInstance(other[:20]), backend.ErrInvalid, "corrupt"},
		"without an identity":  {spoilInstance("{}"), backend.ErrInvalid, "corrupt"},
		"of another user": {func(t *testing.T, dir string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory away")
			}
			must(t, os.Chown(dir, 12345, 12345))
		}, backend.ErrUnauthorized, "belongs to user 12345"},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := testHost(t, place(t))
			made := create(t, h, nil)
			test.spoil(t, h.dir)
			for what, use := range everyUse(h, made.Ref) {
				if err := use(t.Context()); !errors.Is(err, test.class) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("%s = %v; want %v, saying %q", what, err, test.class, test.says)
				}
			}
			wantError(t, h.Prepare(t.Context()), test.class, test.says)
			_, err := backend.Create(t.Context(), h, request(h, nil))
			wantError(t, err, test.class, test.says)
		})
	}
}

func TestHostThatReplacedAnotherTakesItsStateDirectoryOverAsTold(t *testing.T) {
	h, _ := testHost(t, place(t))
	made := create(t, h, nil)
	path := filepath.Join(h.dir, instanceFile)
	moveTo := func(machine string) {
		data, err := os.ReadFile(path)
		must(t, err)
		var in instance
		must(t, json.Unmarshal(data, &in))
		in.Machine = machine
		data, err = json.Marshal(in)
		must(t, err)
		must(t, os.WriteFile(path, data, 0o600))
	}
	moveTo("0123456789abcdef")
	_, err := h.Get(t.Context(), made.Ref)
	for _, says := range []string{
		fmt.Sprintf("write \"machine\": %q in %s", machine(), path), "name another directory here", "terraform state rm ADDRESS",
	} {
		wantError(t, err, backend.ErrConflict, says)
	}
	moveTo(machine())
	if _, err := h.Get(t.Context(), made.Ref); err != nil {
		t.Errorf("taken over, its sandbox cannot be read: %v", err)
	}
}

func spoilInstance(content string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		must(t, os.WriteFile(filepath.Join(dir, instanceFile), []byte(content), 0o600))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestDirectoryThatHoldsAnythingElseIsNotTakenOver(t *testing.T) {
	dir := place(t)
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "thesis.tex"), nil, 0o600))
	h := newHost(dir, &backend.Caller{}, clock.NewFake(start))
	wantError(t, h.Prepare(t.Context()), backend.ErrInvalid, "thesis.tex")
	for what, use := range everyUse(h, sandbox.Ref{Handle: "taskowned-x"}) {
		if err := use(t.Context()); !errors.Is(err, backend.ErrInvalid) || !strings.Contains(err.Error(), "is not a state directory") {
			t.Errorf("%s = %v; want that it is not a state directory", what, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("afterwards it holds %v, %v", entries, err)
	}
}

func TestPreparationThatWasKilledIsCompleted(t *testing.T) {
	dir := place(t)
	must(t, os.Mkdir(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, draftPrefix+"x"), []byte("{"), 0o600))
	h, _ := testHost(t, dir)
	create(t, h, nil)
}

func TestPreparedTogetherThereIsOneIdentity(t *testing.T) {
	dir := place(t)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if err := prepare(dir); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	first, err := openState(dir)
	must(t, err)
	defer first.Close()
	must(t, prepare(dir))
	second, err := openState(dir)
	must(t, err)
	defer second.Close()
	if first.instance != second.instance || first.instance.ID == "" {
		t.Errorf("identities %+v and %+v", first.instance, second.instance)
	}
	if names, err := first.names("."); err != nil || strings.Contains(strings.Join(names, " "), draftPrefix) {
		t.Errorf("left behind among %v, %v", names, err)
	}
}

// One process sees no identity, and then what another has made beside its own.
func TestDirectoryThatAnotherHasPreparedMeanwhileIsTakenAsItIs(t *testing.T) {
	dir := place(t)
	must(t, prepare(dir))
	d, err := openOwn(dir)
	must(t, err)
	defer d.Close()
	before, err := readInstance(d)
	must(t, err)
	must(t, initialise(d))
	if after, err := readInstance(d); err != nil || after != before {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
}

func TestStateAndImageMayBeBelowADirectoryThatOthersCannotSearch(t *testing.T) {
	h := realHost(t)
	image := rootfs(t)
	must(t, os.Chmod(filepath.Dir(h.dir), 0o700))
	must(t, os.Chmod(filepath.Dir(image), 0o700))
	for name, reference := range map[string]string{
		"the host's programs": hostImage, "a directory": build(t, h, image), "a tarball": build(t, h, tarball(t, image)),
	} {
		req := request(h, nil)
		req.Spec.Image = reference
		made := createFrom(t, h, req)
		got, err := h.Exec(t.Context(), made.Ref, backend.Command{Argv: []string{"/bin/sh", "-c", "echo x > file && read word < file && echo $word"}, Timeout: time.Minute})
		if err != nil || string(got.Stdout) != "x\n" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestImageThatIsClosedToTheUsersOfSandboxesMakesNone(t *testing.T) {
	if os.Geteuid() != 0 {
		return // an ordinary user's commands run as that user
	}
	h := realHost(t)
	image := rootfs(t)
	must(t, os.Chmod(image, 0o700))
	req := request(h, nil)
	req.Spec.Image = image
	_, err := backend.Create(t.Context(), h, req)
	wantError(t, err, backend.ErrInvalid, "chmod o+rx")
}

func TestDefaultDirectoryIsTheUsersState(t *testing.T) {
	conn, err := parseURI("local:")
	must(t, err)
	t.Setenv("HOME", "/home/ada")
	for stateHome, want := range map[string]string{
		"":           "local:///home/ada/.local/state/taskowned/sandbox",
		"/srv/state": "local:///srv/state/taskowned/sandbox",
		"relative":   "local:///home/ada/.local/state/taskowned/sandbox",
	} {
		t.Setenv("XDG_STATE_HOME", stateHome)
		if os.Geteuid() == 0 {
			want = "local:///var/lib/taskowned/sandbox"
		}
		b, err := open(conn, nil, &backend.Caller{})
		must(t, err)
		if b.Scope() != want {
			t.Errorf("XDG_STATE_HOME=%q: scope %q, want %q", stateHome, b.Scope(), want)
		}
	}
}
