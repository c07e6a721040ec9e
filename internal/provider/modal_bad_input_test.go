// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

// words makes a pattern of a sentence that Terraform may wrap anywhere.
func words(sentence string) *regexp.Regexp { return regexp.MustCompile(`(?s)` + spaced(sentence)) }

func TestWhatModalCannotDoIsRefusedOnTheFirstPlan(t *testing.T) {
	w := newModalWorld(t)
	var steps []resource.TestStep
	for _, refused := range []struct{ says, attributes string }{
		{"refuses lifetime", `lifetime = "25h"`},
		{"refuses idle_timeout", "lifetime = \"1h\"\nowner = \"terraform:a\"\nidle_timeout = \"10m\""},
		{"refuses network_policy", "lifetime = \"1h\"\nnetwork_policy = { allow_egress_to = [\"packages.example.org\"] }"},
		{"Contradictory network policy", "lifetime = \"1h\"\nnetwork_policy = { block_network = false, allow_egress_to_cidrs = [\"203.0.113.0/24\"] }"},
		{"IPv6", "lifetime = \"1h\"\nnetwork_policy = { allow_egress_to_cidrs = [\"2001:db8::/32\"] }"},
		{"block_network", "lifetime = \"1h\"\nnetwork_policy = { allow_egress_to_cidrs = [\"0.0.0.0/0\"] }"},
	} {
		steps = append(steps, resource.TestStep{
			Config:      "resource \"sandbox_instance\" \"it\" {\n  connection_uri = \"" + w.uri() + "\"\n" + refused.attributes + "\n}\n",
			PlanOnly:    true,
			ExpectError: words(refused.says),
		})
	}
	for _, refused := range []struct{ says, block string }{
		{"must be 1 to 64 letters", `modal = { app_name = "` + strings.Repeat("a", 65) + `" }`},
		{"must be 1 to 64 letters", `modal = { environment = "no spaces" }`},
		{"value must be one of", `modal = { egress_enforcement = "loose" }`},
		{"Invalid Attribute Combination", "local = {}\n  modal = {}"},
		{"Missing Attribute Configuration", `deployment = "prod"`},
		{"must name a set", "modal = {}\n  credentials = \"NOT A NAME\""},
	} {
		steps = append(steps, resource.TestStep{
			Config:      "resource \"sandbox_connection\" \"it\" {\n  " + refused.block + "\n}\n",
			PlanOnly:    true,
			ExpectError: words(refused.says),
		})
	}
	for _, refused := range []struct{ says, attributes string }{
		{"refuses dockerfile_commands", `dockerfile_commands = ["COPY . /src"]`},
		{"registry_password_wo", `registry_username = "robot"`},
		{"secrets_wo_version", `secrets_wo = { TOKEN = "x" }`},
	} {
		steps = append(steps, resource.TestStep{
			Config:      w.image("python:3.12-slim", refused.attributes),
			PlanOnly:    true,
			ExpectError: words(refused.says),
		})
	}
	w.run(steps...)
	if err := func() error { _, err := w.backend().Check(t.Context()); return err }(); err == nil {
		t.Error("the app exists")
	}
}

func TestNamedCredentialsThatAreNotSetNeverFallBackToAmbientOnes(t *testing.T) {
	w := newModalWorld(t)
	token := modalServer.AddToken(workspaceOf(t))
	w.ambient = map[string]string{"MODAL_TOKEN_ID": token.ID, "MODAL_TOKEN_SECRET": token.Secret}
	instance := func(uri string) string { return strings.Replace(w.instance(), w.uri(), uri, 1) }
	w.run(
		resource.TestStep{Config: instance("modal:?credentials=prod"), ExpectError: words(`there is no credential set "prod"`)},
		resource.TestStep{Config: instance("modal:")}, // the ambient ones work where no set is named
	)
}

func TestEmptySecretIsAnErrorThatNamesItsField(t *testing.T) {
	w := newModalWorld(t)
	w.head = credentials("lab", emulator.Token{ID: "ak-lab"})
	w.run(resource.TestStep{Config: w.instance(), ExpectError: words(`field "token_secret" of credential set "lab" is empty`)})
}

func TestCredentialsThatAreNotKnownWhenPlanningAreAnErrorThatSaysWhatToDo(t *testing.T) {
	w := newModalWorld(t)
	w.head = `
resource "terraform_data" "secret" { input = "x" }
provider "sandbox" {
  credentials = { lab = { modal = { token_id = "ak-lab", token_secret = terraform_data.secret.output } } }
}
`
	w.run(resource.TestStep{Config: w.instance(), ExpectError: words(`is known only after another resource was applied`)})
}

// withOther runs the steps of one sandbox whose second step has other credentials:
// it must fail, and the state must be what it was.
func (w *world) withOther(token emulator.Token, says *regexp.Regexp) {
	w.t.Helper()
	good := w.head
	w.head = ""
	config := w.instance(`owner = "terraform:a"`)
	w.run(
		resource.TestStep{Config: good + config},
		resource.TestStep{Config: credentials("lab", token) + config, ExpectError: says},
		resource.TestStep{Config: good + config, ConfigPlanChecks: emptyPlan(), Check: func(*terraform.State) error { w.only(); return nil }},
	)
}

func TestWrongTokenForgetsNothing(t *testing.T) {
	w := newModalWorld(t)
	token := modalServer.AddToken(workspaceOf(t))
	modalServer.RevokeToken(token.ID)
	w.withOther(token, words("Nothing was concluded from this. Check the credentials"))
}

// The other workspace has no app of that name, or one with other sandboxes.
func TestTokenOfAnotherWorkspaceIsAnErrorThatNamesBothAndForgetsNothing(t *testing.T) {
	for name, prepared := range map[string]bool{"without the app": false, "with the app": true} {
		t.Run(name, func(t *testing.T) {
			w := newModalWorld(t)
			mine, other := workspaceOf(t), "other-"+strings.ReplaceAll(name, " ", "-")
			token := modalServer.AddToken(other)
			if prepared {
				there := newModalPlace(t, token)
				there.prepare()
			}
			w.withOther(token, regexp.MustCompile(`(?s)`+other+`.*made\s+at\s+"`+mine))
		})
	}
}

func TestAssertedWorkspaceRefusesTheTokenOfAnother(t *testing.T) {
	w := newModalWorld(t)
	w.run(resource.TestStep{
		Config:      "resource \"sandbox_connection\" \"it\" {\n  credentials = \"lab\"\n  modal = { workspace = \"acme\" }\n}\n",
		ExpectError: regexp.MustCompile(`(?s)acme.*` + workspaceOf(t)[:16] + `|` + workspaceOf(t)[:16] + `.*acme`),
	})
}

func TestMissingEnvironmentAndAppAreErrorsThatSayWhatToDo(t *testing.T) {
	w := newModalWorld(t)
	w.run(
		resource.TestStep{
			Config:      "resource \"sandbox_connection\" \"it\" {\n  credentials = \"lab\"\n  modal = { environment = \"staging\" }\n}\n",
			ExpectError: words("environment staging"),
		},
		resource.TestStep{
			Config:      "data \"sandbox_instances\" \"all\" { connection_uri = \"modal://main/nowhere?credentials=lab\" }\n",
			ExpectError: words("no app nowhere"),
		},
	)
}

func TestImageThatDoesNotBuildShowsItsLogAndLeavesTheSandbox(t *testing.T) {
	w := newModalWorld(t)
	config := func(command string) string {
		return w.image("python:3.12-slim", "dockerfile_commands = [\""+command+"\"]", `secrets_wo = { INDEX = "hush-token" }`, `secrets_wo_version = 1`) +
			w.instance("image = sandbox_image.it.reference", "lifecycle { create_before_destroy = true }")
	}
	var before string
	w.run(
		resource.TestStep{Config: config("RUN pip install pandas")},
		resource.TestStep{
			PreConfig:   func() { before = w.only().Handle },
			Config:      config(badCommand),
			ExpectError: words("The build's log ends:"),
		},
		resource.TestStep{
			PreConfig: func() {
				if after := w.only().Handle; after != before {
					t.Errorf("%s became %s", before, after)
				}
			},
			Config:           config("RUN pip install pandas"),
			ConfigPlanChecks: emptyPlan(),
		},
		resource.TestStep{
			Config: config("RUN pip install polars"),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction(image, plancheck.ResourceActionUpdate),
				plancheck.ExpectResourceAction(it, plancheck.ResourceActionCreateBeforeDestroy),
			}},
		},
	)
}

// Modal's client reads where its server is from the environment.
func TestServerThatCannotBeReachedIsAClearErrorWithinSecondsAndForgetsNothing(t *testing.T) {
	silent, err := net.Listen("tcp4", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	closed, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	ws.apply()
	for name, variable := range map[string]string{
		"never answers":  "MODAL_SERVER_URL=http://" + silent.Addr().String(),
		"no such port":   "MODAL_SERVER_URL=http://" + closed.Addr().String(),
		"without scheme": "MODAL_SERVER_URL=" + silent.Addr().String(),
		"wrong scheme":   strings.Replace("MODAL_SERVER_URL="+modalServer.URL(), "http:", "https:", 1),
	} {
		began := clock.System().Now()
		out, code := ws.terraform([]string{variable}, "plan")
		took := clock.System().Now().Sub(began)
		if code != 1 || !strings.Contains(out, "Error: ") || took > 40*time.Second {
			t.Errorf("%s: exit %d after %s:\n%s", name, code, took, out)
		}
	}
	// A proxy stands in nobody's way to the loopback.
	if out, code := ws.terraform([]string{"HTTP_PROXY=http://" + closed.Addr().String(), "NO_PROXY="}, "plan", "-detailed-exitcode"); code != 0 {
		t.Errorf("with a proxy: exit %d:\n%s", code, out)
	}
	ws.quiet()
	ws.must("destroy", "-auto-approve")
}
