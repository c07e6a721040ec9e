// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"net"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

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
		{"must be 1 to 64 letters", `modal = { environment = "` + strings.Repeat("a", 65) + `" }`},
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
		{"refuses publish", `publish = "` + strings.Repeat("a", 65) + `"`},
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
	t.Parallel()
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
			Config:      strings.Replace(w.instance(), w.uri(), "modal://staging/analysis?credentials=lab", 1),
			ExpectError: words("there is no environment staging in this workspace; create it, or name another one"),
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

// badServers are what Modal's client is told of its server, wrongly: it reads that
// from the environment.
func badServers(t *testing.T) map[string]string {
	silent, err := net.Listen("tcp4", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	return map[string]string{
		"never answers":  "http://" + silent.Addr().String(),
		"no such port":   "http://" + closedPort(t),
		"without scheme": silent.Addr().String(),
		"wrong scheme":   strings.Replace(modalServer.URL(), "http:", "https:", 1),
	}
}

// closedPort is an address at which nobody listens.
func closedPort(t *testing.T) string {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

func TestServerThatCannotBeReachedIsAClearErrorWithinSecondsAndForgetsNothing(t *testing.T) {
	w := newModalWorld(t)
	there := w.workspace(w.instance(`owner = "terraform:a"`))
	there.apply()
	notYet := w.workspace(w.instance(`owner = "terraform:b"`))
	for name, url := range badServers(t) {
		for _, run := range []struct {
			ws   *workspace
			args []string
		}{
			{there, []string{"plan"}},
			{notYet, []string{"apply", "-auto-approve"}},
		} {
			over := w.soon(name + ": " + strings.Join(run.args, " "))
			out, code := run.ws.terraform([]string{"MODAL_SERVER_URL=" + url}, run.args...)
			over()
			if code != 1 || !words(`on "modal:?credentials=lab":`).MatchString(out) || !words("MODAL_SERVER_URL is "+url).MatchString(out) {
				t.Errorf("%s: %v: exit %d:\n%s", name, run.args, code, out)
			}
		}
	}
	there.quiet()
	w.only()
	there.must("destroy", "-auto-approve")
}

// A proxy stands in nobody's way to the loopback.
func TestProxyInTheEnvironmentIsNotAskedForTheEmulator(t *testing.T) {
	w := newModalWorld(t)
	proxy := "http://" + closedPort(t)
	ws := w.workspace(w.instance(`owner = "terraform:a"`))
	ws.env = append(ws.env, "HTTP_PROXY="+proxy, "HTTPS_PROXY="+proxy, "ALL_PROXY="+proxy, "http_proxy="+proxy, "https_proxy="+proxy, "NO_PROXY=", "no_proxy=")
	ws.apply()
	ws.quiet()
	ws.must("destroy", "-auto-approve")
}

// A list that ends early cannot be told from a whole one.
func TestListThatEndsEarlyForgetsAndLeaksNothing(t *testing.T) {
	inBothGenerations(t, func(w *world, generation string) {
		ws := w.workspace(w.instance(generation, `owner = "terraform:a"`) + strings.Replace(w.instance(generation), `"it"`, `"other"`, 1))
		ws.apply()
		heal := modalServer.Fail("SandboxListV2", emulator.Fault{Cut: true, Keep: 1, Times: -1, Workspace: workspaceOf(w.t)})
		ws.quiet()
		ws.must("apply", "-auto-approve", "-refresh-only")
		ws.must("destroy", "-auto-approve")
		heal()
		if left := w.sandboxes(); len(left) > 0 {
			w.t.Errorf("%v is left", left)
		}
	})
}

// Only V1 sandboxes have GPUs; Modal refuses one for a V2 sandbox.
func TestGPUIsGivenWhateverGenerationTheEnvironmentAsksFor(t *testing.T) {
	w := newModalWorld(t)
	ws := w.workspace(w.instance(`gpu = "T4"`))
	ws.env = append(ws.env, "MODAL_SANDBOX_V2=1")
	ws.apply()
	ws.quiet()
	ws.must("destroy", "-auto-approve")
}

func TestNamesOf64CharactersAreTaken(t *testing.T) {
	w := newModalWorld(t)
	name := strings.Repeat("a", 64)
	w.place = "modal://main/" + name + "?credentials=lab"
	w.run(resource.TestStep{Config: w.image("python:3.12-slim", `publish = "`+name+`:`+name+`"`) + w.instance("image = sandbox_image.it.reference")})
}
