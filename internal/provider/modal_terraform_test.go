// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"testing"
	"time"

	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

// What Terraform itself can do with a sandbox of Modal's, beyond plan and apply.

func TestSandboxOfModalIsImportedWithoutAnotherBeingMade(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `tags = { team = "data" }`, `renew_before = "20m"`, `image = "python:3.12-slim"`,
		`network_policy = { allow_egress_to_cidrs = ["203.0.113.0/24"] }`)
	w.workspace(config).apply()
	made := w.only()
	ws := w.workspace(config)
	ws.must("import", it, w.uri()+"#"+made.Handle)
	ws.apply()
	ws.quiet()
	if now := w.only(); now.Handle != made.Handle || now.Tags["airflow_expires_at"] != made.Tags["airflow_expires_at"] {
		t.Errorf("%s with %v became %s with %v", made.Handle, made.Tags, now.Handle, now.Tags)
	}
	ws.must("destroy", "-auto-approve")
}

// What has replaced an imported sandbox is in the state of whom it was rotated for.
func TestImportOfARetiredSandboxLeavesItsSuccessorAlone(t *testing.T) {
	w := newModalWorld(t)
	config := w.renewed()
	one, other := w.workspace(config), w.workspace(config)
	one.apply()
	old := w.only()
	w.ending(10 * time.Minute)()
	one.apply()
	other.must("import", it, w.uri()+"#"+old.Handle)
	for range 2 { // as imported, and as adopted
		if said := other.must("plan"); strings.Contains(said, one.handle()) {
			t.Errorf("the plan tells of the successor:\n%s", said)
		}
		other.must("apply", "-auto-approve", "-refresh-only")
	}
	other.must("destroy", "-auto-approve")
	one.quiet()
	if left := w.only(); left.Handle != one.handle() || retired(left) {
		t.Errorf("%s is left, with the tags %v", left.Handle, left.Tags)
	}
	one.must("destroy", "-auto-approve")
}

func TestRenamedResourceKeepsItsSandbox(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	ws.apply()
	made := w.only().Handle
	ws.configure(strings.Replace(w.instance(`owner = "terraform:a"`), `"it"`, `"renamed"`, 1) +
		"\nmoved {\n  from = sandbox_instance.it\n  to   = sandbox_instance.renamed\n}\n")
	ws.apply()
	ws.quiet()
	if now := w.only().Handle; now != made {
		t.Errorf("%s became %s", made, now)
	}
	ws.must("destroy", "-auto-approve")
}

func TestReplacementOnRequestLeavesOneSandbox(t *testing.T) {
	t.Parallel()
	for name, lifecycle := range map[string]string{"destroyed first": "", "created first": "lifecycle { create_before_destroy = true }"} {
		t.Run(name, func(t *testing.T) {
			w := newModalWorld(t)
			ws := w.workspace(w.instance(`owner = "terraform:a"`, lifecycle))
			ws.apply()
			made := w.only().Handle
			ws.must("apply", "-auto-approve", "-replace="+it)
			if now := w.only().Handle; now == made || now != ws.handle() {
				t.Errorf("%s became %s, and the state has %s", made, now, ws.handle())
			}
			ws.quiet()
			ws.must("destroy", "-auto-approve")
		})
	}
}

// Without a refresh nothing is known of an end that is near, or past.
func TestWithoutARefreshNothingIsRenewedAndWhatIsGoneIsSaid(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `renew_before = "20m"`)
	ws := w.workspace(config)
	ws.apply()
	w.ending(10 * time.Minute)()
	ws.must("apply", "-auto-approve", "-refresh=false")
	made := w.only()
	ws.destroy(made.Ref)
	ws.configure(strings.Replace(config, "terraform:a", "terraform:b", 1))
	if out, code := ws.terraform(nil, "apply", "-auto-approve", "-refresh=false"); code != 1 || !words("ended after the plan was made").MatchString(out) {
		t.Errorf("exit %d:\n%s", code, out)
	}
	ws.must("destroy", "-auto-approve", "-refresh=false")
	ws.startsAnew()
}

func TestPreventDestroyKeepsASandboxPastItsEndFromBeingReplaced(t *testing.T) {
	w := newModalWorld(t)
	config := w.instance(`owner = "terraform:a"`, `lifecycle { prevent_destroy = true }`)
	ws := w.workspace(config)
	ws.apply()
	made := w.only()
	w.ending(-time.Second)()
	if out, code := ws.terraform(nil, "apply", "-auto-approve"); code != 1 || !words("prevent_destroy set, but the plan calls for").MatchString(out) {
		t.Errorf("exit %d:\n%s", code, out)
	}
	if now := w.only().Handle; now != made.Handle {
		t.Errorf("%s became %s", made.Handle, now)
	}
	ws.destroy(made.Ref) // as Modal does a moment later
	ws.apply()
	ws.quiet()
	ws.configure(w.instance(`owner = "terraform:a"`))
	ws.must("destroy", "-auto-approve")
}

// Two states with one configuration, the published name of an image included.
func TestTwoWorkspacesOfOneConfigurationDoNotDisturbEachOther(t *testing.T) {
	w := newModalWorld(t)
	config := w.image("python:3.12-slim", `publish = "analysis:stable"`) +
		w.instance("image = sandbox_image.it.reference", `owner = "terraform:a"`, `renew_before = "20m"`)
	one, other := w.workspace(config), w.workspace(config)
	one.apply()
	first := w.only()
	w.ending(10 * time.Minute)()
	other.apply()
	one.apply() // a rotation
	other.quiet()
	one.must("destroy", "-auto-approve")
	if left := w.standing(); left.Handle != other.handle() {
		t.Errorf("%s stands, and the other state has %s", left.Handle, other.handle())
	}
	other.quiet()
	other.must("destroy", "-auto-approve")
	if left := w.only(); left.Handle != first.Handle || !retired(left) {
		t.Errorf("%s is left, with the tags %v", left.Handle, left.Tags)
	}
}

// What an emulator kept is gone with it, and so is the app: the next one of the
// same address and account has another app.
func TestStateOfAnEmulatorThatWasStartedAnewIsForgottenOnlyOnRequest(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.place = "modal:"
	options := emulator.Options{Token: emulator.Token{ID: "ak-emulator", Secret: "as-emulator"}}
	start := func() *emulator.Server {
		server, err := emulator.Start(options)
		if err != nil {
			t.Fatal(err)
		}
		options.Listen = strings.TrimPrefix(server.URL(), "http://")
		return server
	}
	stop := func(server *emulator.Server) {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}
	server := start()
	const here = "sandbox_connection.here"
	ws := w.workspace("resource \"sandbox_connection\" \"here\" { modal = {} }\n" +
		strings.Replace(w.instance(`owner = "terraform:a"`), `"modal:"`, here+".uri", 1))
	ws.env = append(ws.env, server.Environ()...)
	ws.apply()
	before := ws.handle()
	stop(server)
	server = start()
	defer func() { stop(server) }()

	fails := func(says string, args ...string) {
		t.Helper()
		if out, code := ws.terraform(nil, args...); code != 1 || !words(says).MatchString(out) {
			t.Errorf("%v: exit %d, and it does not say %q:\n%s", args, code, says, out)
		}
	}
	fails("To make the place anew, run `terraform apply -refresh=false -replace=ADDRESS`", "plan")
	ws.must("apply", "-auto-approve", "-refresh=false", "-replace="+here)
	fails("remove the resource from the state with `terraform state rm`", "plan")
	fails("remove the resource from the state with `terraform state rm`", "destroy", "-auto-approve", "-refresh=false", "-target="+it)
	if ws.handle() != before {
		t.Errorf("the state has %s, and had %s", ws.handle(), before)
	}
	ws.must("state", "rm", it)
	ws.apply()
	ws.quiet()
	ws.must("destroy", "-auto-approve")
}
