// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// airflowConnection calls the function offline; nil is a null.
func airflowConnection(t *testing.T, uri string, secrets map[string]*string) (asJSON, asURI string, refused *function.FuncError) {
	t.Helper()
	values := map[string]attr.Value{}
	for name, secret := range secrets {
		values[name] = types.StringPointerValue(secret)
	}
	resp := function.RunResponse{Result: function.NewResultData(types.ObjectUnknown(airflowConnectionType))}
	NewAirflowConnectionFunction().Run(t.Context(), function.RunRequest{Arguments: function.NewArgumentsData([]attr.Value{
		types.StringValue(uri), types.MapValueMust(types.StringType, values),
	})}, &resp)
	if resp.Error != nil {
		return "", "", resp.Error
	}
	result, ok := resp.Result.Value().(types.Object)
	if !ok {
		t.Fatalf("result is a %T", resp.Result.Value())
	}
	return text(result, "json"), text(result, "uri"), nil
}

func TestAirflowConnectionHasTheEnvironmentAndTheTokenInBothForms(t *testing.T) {
	id, secret, key := "ak-1", "as/1 ü", "k/ey"
	for uri, row := range map[string]struct {
		secrets        map[string]*string
		document, text string
	}{
		"modal:": {
			map[string]*string{"token_id": &id, "token_secret": &secret},
			`{"conn_type":"modal","login":"ak-1","password":"as/1 ü","extra":{"environment":"main"}}`,
			`modal://ak-1:as%2F1%20%C3%BC@/?environment=main`,
		},
		"modal://dev/app?credentials=prod&deployment=airflow-prod": {
			map[string]*string{"token_id": &id, "token_secret": &id},
			`{"conn_type":"modal","login":"ak-1","password":"ak-1","extra":{"environment":"dev"}}`,
			`modal://ak-1:ak-1@/?environment=dev`,
		},
		"opensandbox+https://Sandbox.internal:8080?request_timeout=1m30s&use_server_proxy=false&deployment=prod": {
			map[string]*string{"api_key": &key},
			`{"conn_type":"generic","host":"sandbox.internal","password":"k/ey","schema":"https","port":8080,"extra":{"request_timeout":"90","use_server_proxy":"false"}}`,
			`generic://:k%2Fey@sandbox.internal:8080/https?request_timeout=90&use_server_proxy=false`,
		},
		"opensandbox+http://[2001:db8::1]:8080": {
			map[string]*string{"api_key": &key},
			`{"conn_type":"generic","host":"[2001:db8::1]","password":"k/ey","schema":"http","port":8080}`,
			`generic://:k%2Fey@%5B2001%3Adb8%3A%3A1%5D:8080/http`,
		},
	} {
		document, text, err := airflowConnection(t, uri, row.secrets)
		if err != nil || document != row.document || text != row.text {
			t.Errorf("%s: %v\n%s\n%s", uri, err, document, text)
		}
	}
}

func TestAirflowConnectionRefusesWhatAirflowWouldReadOtherwise(t *testing.T) {
	token, empty, line := "hush-token", "", "hush-token\n"
	full := map[string]*string{"token_id": &token, "token_secret": &token}
	for name, row := range map[string]struct {
		uri     string
		secrets map[string]*string
		says    string
	}{
		"no secrets":        {"modal:", nil, "silently take whatever credentials its worker has"},
		"empty secrets":     {"modal:", map[string]*string{"token_id": &empty, "token_secret": &empty}, "silently take"},
		"null secrets":      {"modal:", map[string]*string{"token_id": nil, "token_secret": nil}, "silently take"},
		"no secret":         {"modal:", map[string]*string{"token_id": &token}, "token_secret is empty"},
		"no id":             {"modal:", map[string]*string{"token_secret": &token, "token_id": &empty}, "token_id is empty"},
		"a line break":      {"modal:", map[string]*string{"token_id": &token, "token_secret": &line}, "token_secret begins or ends with white space"},
		"another field":     {"modal:", map[string]*string{"api_key": &token}, "no api_key here, only token_id and token_secret"},
		"a local place":     {"local:", full, `no connection of Airflow leads to "local:": `},
		"no place":          {"docker:", full, "unknown scheme"},
		"a secret in it":    {"modal://hush-token@main/app", full, "must not hold a user"},
		"no key":            {"opensandbox+https://a.example.org", nil, "OPEN_SANDBOX_API_KEY of its worker"},
		"a key in it":       {"opensandbox+https://hush-token@a.example.org", map[string]*string{"api_key": &token}, "nothing else is read"},
		"no host":           {"opensandbox+https://", map[string]*string{"api_key": &token}, "no host"},
		"a strange scheme":  {"opensandbox+grpc://a.example.org", map[string]*string{"api_key": &token}, "opensandbox+https://"},
		"a broken server":   {"opensandbox+https://hush-token\x7f", map[string]*string{"api_key": &token}, "not well formed"},
		"a misspelt one":    {"opensandbox+https://a.example.org?timeout=3s", map[string]*string{"api_key": &token}, `unknown setting "timeout"`},
		"port 0":            {"opensandbox+https://a.example.org:0", map[string]*string{"api_key": &token}, "0 is no port"},
		"a bare number":     {"opensandbox+https://a.example.org?request_timeout=30", map[string]*string{"api_key": &token}, "such as 30s"},
		"a word for a flag": {"opensandbox+https://a.example.org?use_server_proxy=on", map[string]*string{"api_key": &token}, "neither true nor false"},
	} {
		_, _, err := airflowConnection(t, row.uri, row.secrets)
		if err == nil || !strings.Contains(err.Text, row.says) || strings.Contains(err.Text, token) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
