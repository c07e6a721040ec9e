// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package modal

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/backend"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// uses are ways to look at a sandbox that must not take trouble for absence.
func uses(a *app, handle string) map[string]func(context.Context) error {
	ref := sandbox.Ref{Handle: handle}
	return map[string]func(context.Context) error{
		"Check": func(ctx context.Context) error { _, err := a.Check(ctx); return err },
		"Get":   func(ctx context.Context) error { _, err := a.Get(ctx, ref); return err },
		"Find":  func(ctx context.Context) error { _, err := a.Find(ctx, sandbox.NewMark()); return err },
		"List": func(ctx context.Context) error {
			for _, err := range a.List(ctx) {
				return err
			}
			return nil
		},
		"Create":  func(ctx context.Context) error { _, err := backend.Create(ctx, a, request()); return err },
		"Destroy": func(ctx context.Context) error { return a.Destroy(ctx, ref) },
		"Exec": func(ctx context.Context) error {
			_, err := a.Exec(ctx, ref, backend.Command{Argv: []string{"true"}, Timeout: time.Second})
			return err
		},
		"SetTags": func(ctx context.Context) error { return a.SetTags(ctx, ref, sandbox.Tags{}) },
	}
}

// every is each use of an app, a sandbox and an image that there is.
func every(a *app, handle, image string) map[string]func(context.Context) error {
	ref := sandbox.Ref{Handle: handle}
	all := uses(a, handle)
	maps.Copy(all, map[string]func(context.Context) error{
		"Prepare": a.Prepare,
		"ReadFile": func(ctx context.Context) error {
			_, err := a.ReadFile(ctx, ref, "/x", 1, io.Discard)
			return err
		},
		"WriteFile":     func(ctx context.Context) error { return a.WriteFile(ctx, ref, "/x", strings.NewReader("x")) },
		"ListDirectory": func(ctx context.Context) error { _, err := a.ListDirectory(ctx, ref, "/"); return err },
		"SetNetwork": func(ctx context.Context) error {
			return a.SetNetwork(ctx, ref, sandbox.NetworkPolicy{Open: true})
		},
		"BuildImage": func(ctx context.Context) error {
			_, err := a.BuildImage(ctx, backend.ImageSpec{From: "python:3.12-slim"}, io.Discard)
			return err
		},
		"HasImage":     func(ctx context.Context) error { _, err := a.HasImage(ctx, image); return err },
		"DeleteImage":  func(ctx context.Context) error { return a.DeleteImage(ctx, image) },
		"PublishImage": func(ctx context.Context) error { return a.PublishImage(ctx, image, "name") },
	})
	return all
}

func TestAWrongTokenIsNeverTakenForAbsence(t *testing.T) {
	server, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	t.Setenv("MODAL_TOKEN_SECRET", "as-wrong")
	for what, use := range uses(at(t, "modal:"), s.Handle) {
		t.Run(what, func(t *testing.T) { wantClass(t, use(t.Context()), backend.ErrUnauthorized) })
	}
	if running(server) != 1 {
		t.Errorf("%d sandboxes live, want 1", running(server))
	}
}

func TestATokenOfAnotherWorkspaceIsRefusedAndTouchesNothing(t *testing.T) {
	server, a := opened(t, emulator.Options{Workspace: "acme"}, "modal:?workspace=acme")
	s := made(t, a)
	other := server.AddToken("umbrella")
	t.Setenv("MODAL_TOKEN_ID", other.ID)
	t.Setenv("MODAL_TOKEN_SECRET", other.Secret)
	strange := at(t, "modal:?workspace=acme")
	all := uses(strange, s.Handle)
	all["Prepare"] = strange.Prepare
	for what, use := range all {
		t.Run(what, func(t *testing.T) {
			wantClass(t, use(t.Context()), backend.ErrUnauthorized, "umbrella", "acme")
		})
	}
	if n := server.Calls()["AppGetOrCreate"]; n == 0 || running(server) != 1 {
		t.Errorf("%d look-ups, %d sandboxes live; want some and 1", n, running(server))
	}
	// Not asserted, it is another place: the identity tells.
	here, err := a.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	unasserted := at(t, "modal:")
	if _, err := unasserted.Check(t.Context()); err == nil {
		t.Error("the look-ups above have made an app in the other workspace")
	}
	if err := unasserted.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	there, err := unasserted.Check(t.Context())
	if err != nil || there.Identity == here.Identity || !strings.HasPrefix(here.Identity, "acme/ap-") || !strings.HasPrefix(there.Identity, "umbrella/ap-") {
		t.Errorf("identities %q and %q, %v", here.Identity, there.Identity, err)
	}
}

func TestAMissingAppOrEnvironmentIsNotAMissingSandbox(t *testing.T) {
	start(t, emulator.Options{})
	for uri, says := range map[string]string{"modal:": "no app airflow-sandbox", "modal://absent/app": "environment absent"} {
		for what, use := range uses(at(t, uri), "sb-0123456789012345678901") {
			t.Run(uri+"/"+what, func(t *testing.T) { wantClass(t, use(t.Context()), backend.ErrUnavailable, says, "terraform apply") })
		}
	}
	wantClass(t, at(t, "modal://absent/app").Prepare(t.Context()), backend.ErrInvalid, "no environment absent")
}

func TestAServerThatIsNotThereFailsWithinSeconds(t *testing.T) {
	server := start(t, emulator.Options{})
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for url, class := range map[string]error{
		"http://" + mute(t): backend.ErrUnavailable,
		"http://" + dead:    backend.ErrUnavailable,
		strings.Replace(server.URL(), "http://", "https://", 1): backend.ErrUnavailable,
		strings.TrimPrefix(server.URL(), "http://"):             backend.ErrInvalid,
		"ftp://" + dead:           backend.ErrInvalid,
		server.URL() + "/":        backend.ErrInvalid,
		"http://":                 backend.ErrInvalid,
		"bot:hush@" + dead:        backend.ErrInvalid,
		"http://bot:hush@" + dead: backend.ErrInvalid,
	} {
		t.Run(url, func(t *testing.T) {
			t.Setenv("MODAL_SERVER_URL", url)
			a := opener(t, "modal:", nil)(t, &backend.Caller{})
			begun := clock.System().Now()
			_, err := a.Check(t.Context())
			wantClass(t, err, class, "MODAL_SERVER_URL is ")
			if took := clock.System().Now().Sub(begun); took > 10*time.Second {
				t.Errorf("failed after %s: %v", took, err)
			}
			if strings.Contains(err.Error(), "hush") {
				t.Errorf("the error holds a password: %v", err)
			}
		})
	}
}

// mute is the address of a server that takes connections and never says a word.
func mute(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

func TestAServerThatNeverSaysAWordIsToldOfWithinSecondsWhateverIsAsked(t *testing.T) {
	start(t, emulator.Options{})
	t.Setenv("MODAL_SERVER_URL", "http://"+mute(t))
	fresh := func() *app { // whose first contact it is
		a := at(t, "modal:")
		a.checkWithin = time.Second
		return a
	}
	const handle, image = "sb-0123456789012345678901", "im-0123456789012345678901"
	var all sync.WaitGroup
	for what := range every(fresh(), handle, image) {
		use := every(fresh(), handle, image)[what]
		all.Go(func() {
			begun := clock.System().Now()
			err := use(t.Context())
			if took := clock.System().Now().Sub(begun); took > 5*time.Second {
				t.Errorf("%s took %s", what, took)
			}
			wantClass(t, err, backend.ErrUnavailable, "modal:")
		})
	}
	// All who use one app wait together, not one after another.
	together := every(fresh(), handle, image)
	begun := clock.System().Now()
	for _, use := range together {
		all.Go(func() { wantClass(t, use(t.Context()), backend.ErrUnavailable, "modal:") })
	}
	all.Wait()
	if took := clock.System().Now().Sub(begun); took > 5*time.Second {
		t.Errorf("%d uses together took %s", len(together), took)
	}
	if checkWithin > 15*time.Second {
		t.Errorf("outside of tests it takes %s, want seconds", checkWithin)
	}
}

func TestAProxyDoesNotStandBeforeTheLoopback(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	_, a := opened(t, emulator.Options{}, "modal:")
	s := made(t, a)
	if _, err := a.Exec(t.Context(), s.Ref, backend.Command{Argv: []string{"true"}, Timeout: time.Minute}); err != nil {
		t.Error(err)
	}
}

func TestCredentialsStandAlone(t *testing.T) {
	server := start(t, emulator.Options{Workspace: "ambient"})
	acme, umbrella := server.AddToken("acme"), server.AddToken("umbrella")
	file := filepath.Join(t.TempDir(), "modal.toml")
	content := fmt.Sprintf("[acme]\ntoken_id = %q\ntoken_secret = %q\nenvironment = \"other\"\n[umbrella]\ntoken_id = %q\ntoken_secret = %q\nactive = true\n[empty]\n",
		acme.ID, acme.Secret, umbrella.ID, umbrella.Secret)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MODAL_CONFIG_PATH", file)
	t.Setenv("MODAL_ENVIRONMENT", "elsewhere")

	ambient := map[string]string{"MODAL_TOKEN_ID": os.Getenv("MODAL_TOKEN_ID"), "MODAL_TOKEN_SECRET": os.Getenv("MODAL_TOKEN_SECRET"), "MODAL_PROFILE": ""}
	none := map[string]string{"MODAL_TOKEN_ID": "", "MODAL_TOKEN_SECRET": "", "MODAL_PROFILE": ""}
	for name, test := range map[string]struct {
		credentials backend.Credentials
		environment map[string]string
		want        string
	}{
		"the variables":                       {nil, ambient, "ambient"},
		"the active profile":                  {nil, none, "umbrella"},
		"the profile of MODAL_PROFILE":        {nil, map[string]string{"MODAL_TOKEN_ID": "", "MODAL_TOKEN_SECRET": "", "MODAL_PROFILE": "acme"}, "acme"},
		"a set, not the variables":            {backend.Credentials{fieldTokenID: acme.ID, fieldTokenSecret: acme.Secret}, ambient, "acme"},
		"a named profile, not the variables":  {backend.Credentials{fieldProfile: "acme"}, ambient, "acme"},
		"a named profile, not the active one": {backend.Credentials{fieldProfile: "acme"}, none, "acme"},
	} {
		t.Run(name, func(t *testing.T) {
			for variable, value := range test.environment {
				t.Setenv(variable, value)
			}
			conn, err := parseURI(t, "modal:")
			if err != nil {
				t.Fatal(err)
			}
			a := newApp(conn, test.credentials, &backend.Caller{}, clock.System())
			if err := a.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			status, err := a.Check(t.Context())
			if err != nil || !strings.HasPrefix(status.Identity, test.want+"/") {
				t.Errorf("identity %q, %v; want workspace %s", status.Identity, err, test.want)
			}
			for variable, value := range test.environment {
				if os.Getenv(variable) != value {
					t.Errorf("%s was left as %q", variable, os.Getenv(variable))
				}
			}
		})
	}
}

func TestNoVariableDecidesAboutTheEnvironment(t *testing.T) {
	server, _ := opened(t, emulator.Options{Environments: []string{"main", "elsewhere"}}, "modal:")
	t.Setenv("MODAL_ENVIRONMENT", "absent")
	for generation, g := range generations {
		t.Setenv("MODAL_SANDBOX_V2", g.variable)
		a := at(t, "modal:")
		s := made(t, a) // with variables, which V1 keeps in a secret of the environment
		if err := a.SetTags(t.Context(), s.Ref, s.Tags); err != nil {
			t.Errorf("%s: %v", generation, err)
		}
	}
	if n := running(server); n != 2 {
		t.Errorf("%d sandboxes live, want 2", n)
	}
}

func TestASetNeedsNoFileOfTheVendor(t *testing.T) {
	server := start(t, emulator.Options{})
	file := filepath.Join(t.TempDir(), "modal.toml")
	if err := os.WriteFile(file, []byte("broken = hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("MODAL_CONFIG_PATH", file)
	credentials := backend.Credentials{fieldTokenID: server.Token().ID, fieldTokenSecret: server.Token().Secret}
	a := newApp(backend.Connection{Scheme: "modal"}, credentials, &backend.Caller{}, clock.System())
	if err := a.Prepare(t.Context()); err != nil {
		t.Error(err)
	}
	if os.Getenv("MODAL_CONFIG_PATH") != file {
		t.Errorf("MODAL_CONFIG_PATH was left as %q", os.Getenv("MODAL_CONFIG_PATH"))
	}
}

func TestWithoutAnyCredentialsNothingIsAsked(t *testing.T) {
	start(t, emulator.Options{})
	t.Setenv("MODAL_TOKEN_ID", "")
	t.Setenv("MODAL_TOKEN_SECRET", "")
	t.Setenv("MODAL_CONFIG_PATH", filepath.Join(t.TempDir(), "absent.toml"))
	for what, use := range uses(at(t, "modal:"), "sb-0123456789012345678901") {
		t.Run(what, func(t *testing.T) {
			wantClass(t, use(t.Context()), backend.ErrUnauthorized, "missing credentials: set MODAL_TOKEN_ID")
		})
	}
}

func TestProfilesAreFoundByName(t *testing.T) {
	file := filepath.Join(t.TempDir(), "modal.toml")
	t.Setenv("MODAL_CONFIG_PATH", file)
	if _, ok, err := profile("acme"); ok || err != nil {
		t.Errorf("without a file: %t, %v", ok, err)
	}
	if err := os.WriteFile(file, []byte("[acme]\ntoken_id = \"ak-1\"\ntoken_secret = \"as-hunter2\"\n[half]\ntoken_id = \"ak-1\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, ok, err := profile("acme"); !ok || err != nil || got[fieldProfile] != "acme" || len(got) != 1 {
		t.Errorf("acme: %v, %t, %v", got, ok, err)
	}
	if _, ok, err := profile("other"); ok || err != nil {
		t.Errorf("other: %t, %v", ok, err)
	}
	_, _, err := profile("half")
	wantClass(t, err, backend.ErrUnauthorized, "no token_id and token_secret")
	if err := os.WriteFile(file, []byte("[acme]\ntoken_secret = as-hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = profile("acme")
	wantClass(t, err, backend.ErrUnauthorized, file)
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error quotes the file: %v", err)
	}
	_, err = newApp(backend.Connection{Scheme: "modal"}, nil, &backend.Caller{}, clock.System()).Check(t.Context())
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("with a broken file: %v", err)
	}
}
