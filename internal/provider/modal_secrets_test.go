// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every secret is given as an ephemeral variable, and then looked for in all that
// Terraform and the provider keep or say, logs at their most talkative included.
func TestNoSecretIsInStatePlanLogsOrErrors(t *testing.T) {
	w := newModalWorld(t)
	account := w.sets["lab"]["modal"]
	w.head = `
variable "token_id" {
  type      = string
  ephemeral = true
}
variable "token_secret" {
  type      = string
  ephemeral = true
}
variable "env" {
  type      = string
  ephemeral = true
}
variable "registry" {
  type      = string
  ephemeral = true
}
variable "index" {
  type      = string
  ephemeral = true
}
provider "sandbox" {
  credentials = { lab = { modal = { token_id = var.token_id, token_secret = var.token_secret } } }
}
`
	const inside, registry, index = "hush-inside-the-sandbox", "hush-of-the-registry", "hush-of-the-index"
	ws := w.workspace(w.image("registry.example.org/team/base:1", `dockerfile_commands = ["RUN pip install private"]`,
		`registry_username = "robot"`, `registry_password_wo = var.registry`,
		`secrets_wo = { INDEX_TOKEN = var.index }`, `secrets_wo_version = 1`) +
		w.instance(`image = sandbox_image.it.reference`, `owner = "terraform:a"`, `env_wo_version = 1`, `env_wo = {
    TOKEN              = var.env
    AIRFLOW_CONN_MODAL = provider::sandbox::airflow_connection("modal:", { token_id = var.token_id, token_secret = var.token_secret }).uri
  }`))
	log := filepath.Join(ws.path, "log")
	ws.env = append(ws.env, "TF_LOG=TRACE", "TF_LOG_PATH="+log,
		"TF_VAR_token_id="+account["token_id"], "TF_VAR_token_secret="+account["token_secret"], "TF_VAR_env="+inside,
		"TF_VAR_registry="+registry, "TF_VAR_index="+index)
	said := ws.must("plan", "-out=plan")
	said += ws.must("show", "-json", "plan")
	said += ws.must("apply", "plan")
	said += ws.must("show", "-json")
	ws.quiet()
	failed, code := ws.terraform([]string{"TF_VAR_token_secret=" + account["token_secret"] + "-wrong"}, "plan")
	if code != 1 {
		t.Errorf("a wrong secret: exit %d", code)
	}
	said += failed
	connection := "modal://" + account["token_id"] + ":" + account["token_secret"] + "@/?environment=main"
	if got := w.shell(w.only(), "echo $TOKEN $AIRFLOW_CONN_MODAL"); got != inside+" "+connection+"\n" {
		t.Errorf("inside is %q", got)
	}
	for _, name := range []string{"terraform.tfstate", "plan", "log"} {
		data, err := os.ReadFile(filepath.Join(ws.path, name))
		if err != nil {
			t.Fatal(err)
		}
		said += string(data)
	}
	for name, secret := range map[string]string{
		"the token's id": account["token_id"], "the token's secret": account["token_secret"], "env_wo": inside,
		"registry_password_wo": registry, "secrets_wo": index,
	} {
		if at := strings.Index(said, secret); at >= 0 {
			t.Errorf("%s is told: %s", name, said[max(0, at-200):min(len(said), at+100)])
		}
	}
}
