// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

// written is the Airflow connection that Terraform wrote.
type written struct{ JSON, URI string }

func airflowConnection(t *testing.T) (c written) {
	t.Helper()
	if err := json.Unmarshal(stack.outputs["airflow_connection"].Value, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// publish writes what Terraform gave into the deployment, through its API.
func (d *deployment) publish(t *testing.T) {
	t.Helper()
	for key, value := range variables(t) {
		d.Call(t, http.MethodPost, "/api/v2/variables", map[string]string{"key": key, "value": value})
	}
	var connection map[string]any
	if err := json.Unmarshal([]byte(airflowConnection(t).JSON), &connection); err != nil {
		t.Fatal(err)
	}
	extra, err := json.Marshal(connection["extra"])
	if err != nil {
		t.Fatal(err)
	}
	connection["connection_id"], connection["extra"] = "modal_api", string(extra) // which the API wants as text
	d.Call(t, http.MethodPost, "/api/v2/connections", connection)
}

// variables are those of the deployment.
func variables(t *testing.T) map[string]string {
	t.Helper()
	handles, err := json.Marshal([]string{made(t, "first").Handle, made(t, "second").Handle})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"sandbox_handle": made(t, "from a variable").Handle, "sandbox_handles": string(handles)}
}

func connectionIsReadAsItWasMeant(t *testing.T) {
	type credentials struct {
		ID          string `json:"token_id"`
		Secret      string `json:"token_secret"`
		Environment string `json:"environment"`
	}
	want := credentials{server.Token().ID, server.Token().Secret, "main"}
	connection := airflowConnection(t)
	for form, text := range map[string]string{"JSON": connection.JSON, "URI": connection.URI} {
		if got := ask[credentials](t, "connection", arguments{"value": text}); got != want {
			t.Errorf("out of the %s Airflow's hook takes %+v, want %+v", form, got, want)
		}
	}
	for _, half := range []string{`{"conn_type": "modal", "login": "ak-1"}`, "modal://ak-1@/?environment=main"} {
		if failed := worker.do(t, "connection", arguments{"value": half}).Error; failed == nil || failed.Type != "ModalConnectionError" {
			t.Errorf("%s: %+v, want half a token to fail", half, failed)
		}
	}
	// Nothing else led these tasks to Modal: the third one's is in the database.
	for _, task := range []string{"of_the_run", "from_file", "from_variable"} {
		if came := lab.outcomes(t, "attach", task)[0]; came.Error != "" {
			t.Errorf("task %s came to %s", task, came.Error)
		}
	}
}

func maskedFieldsAreNoDrift(t *testing.T) {
	for key, value := range variables(t) {
		var variable struct{ Value string }
		if err := json.Unmarshal(lab.Call(t, http.MethodGet, "/api/v2/variables/"+key, nil), &variable); err != nil || !alike(variable.Value, value) {
			t.Errorf("the Variable %s is %q, %v, want %q", key, variable.Value, err, value)
		}
	}
	shown := string(lab.Call(t, http.MethodGet, "/api/v2/connections/modal_api", nil))
	if !strings.Contains(shown, server.Token().ID) || strings.Contains(shown, server.Token().Secret) || !strings.Contains(shown, "***") {
		t.Errorf("the connection is shown as %s", shown)
	}
	wantQuiet(t, "with outputs that Airflow keeps,", "from a variable")
}

// alike reports whether two texts are the same, or the same in JSON: Airflow
// writes a structured Variable anew when it looks for what to mask.
func alike(a, b string) bool {
	var left, right any
	if json.Unmarshal([]byte(a), &left) != nil || json.Unmarshal([]byte(b), &right) != nil {
		return a == b
	}
	return reflect.DeepEqual(left, right)
}
