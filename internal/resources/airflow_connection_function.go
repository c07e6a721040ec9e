// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/connect"
)

// NewAirflowConnectionFunction makes the function airflow_connection.
func NewAirflowConnectionFunction() function.Function { return airflowConnectionFunction{} }

// airflowConnectionFunction writes the Airflow connection with which Airflow's
// own backend reaches a connection of ours. The secrets are an argument: Terraform
// keeps their marks on the result, sensitive or ephemeral.
type airflowConnectionFunction struct{}

// airflowConnectionType is the function's result.
var airflowConnectionType = map[string]attr.Type{"json": types.StringType, "uri": types.StringType}

// Metadata names the function.
func (airflowConnectionFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "airflow_connection"
}

// Definition describes the function.
func (airflowConnectionFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "The Airflow connection to a place of sandboxes",
		MarkdownDescription: "Returns the Airflow connection with which Airflow's own sandbox backend reaches the same place, as " +
			"`{ json, uri }`: both are values for `AIRFLOW_CONN_<ID>`, a secrets backend or the CLI. Prefer `json`. Refuses what Airflow " +
			"would silently read otherwise, such as an empty secret, for which it takes credentials of its worker. What is made from a " +
			"`sensitive` or `ephemeral` secret is so, too.",
		Parameters: []function.Parameter{
			function.StringParameter{
				Name: "connection_uri",
				MarkdownDescription: "Where the sandboxes live: the `uri` of a `sandbox_connection` to Modal, or an OpenSandbox server, " +
					"`opensandbox+https://HOST:PORT?request_timeout=30s&use_server_proxy=true`. Its settings `credentials` and `deployment` have no " +
					"meaning here.",
			},
			function.MapParameter{
				Name:        "credentials",
				ElementType: types.StringType,
				MarkdownDescription: "The secrets: `{ token_id, token_secret }` for Modal, as in the provider's `credentials`; `{ api_key }` for " +
					"OpenSandbox.",
			},
		},
		Return: function.ObjectReturn{AttributeTypes: airflowConnectionType},
	}
}

// Run writes the connection in both forms.
func (airflowConnectionFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var uri string
	var secrets map[string]*string
	if resp.Error = req.Arguments.Get(ctx, &uri, &secrets); resp.Error != nil {
		return
	}
	kind, err := airflowKindOf(uri)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	given, err := kind.take(secrets)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(1, err.Error())
		return
	}
	connection, err := kind.write(given)
	if err != nil {
		resp.Error = function.NewFuncError(err.Error())
		return
	}
	document, jsonErr := connection.JSON()
	text, uriErr := connection.URI()
	if err := errors.Join(jsonErr, uriErr); err != nil {
		resp.Error = function.NewFuncError(err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, types.ObjectValueMust(airflowConnectionType, map[string]attr.Value{
		"json": types.StringValue(document), "uri": types.StringValue(text),
	}))
}

// airflowKind is how Airflow's backend for one kind of place is told of it.
type airflowKind struct {
	secrets []string // names, in the order of write
	write   func(secrets []string) (airflow.Connection, error)
}

// airflowKindOf reads uri. OpenSandbox is known to Airflow alone.
func airflowKindOf(uri string) (airflowKind, error) {
	if strings.HasPrefix(uri, "opensandbox+") {
		server, err := url.Parse(uri)
		if err != nil {
			return airflowKind{}, errors.New("the connection URI is not well formed; it reads opensandbox+https://HOST:PORT?SETTING=VALUE")
		}
		return airflowKind{[]string{"api_key"}, func(secrets []string) (airflow.Connection, error) {
			return airflow.OpenSandboxConnection(server, secrets[0])
		}}, nil
	}
	conn, err := connect.Parse(uri)
	if err != nil {
		return airflowKind{}, err
	}
	if kind(conn.Scheme) != "modal" {
		return airflowKind{}, fmt.Errorf("no connection of Airflow leads to %q: there are those to Modal and to OpenSandbox", conn.Location())
	}
	return airflowKind{[]string{"token_id", "token_secret"}, func(secrets []string) (airflow.Connection, error) {
		return airflow.ModalConnection(cmp.Or(conn.Authority, modalEnvironment), secrets[0], secrets[1])
	}}, nil
}

// take puts the secrets in order; one that is missing or null is empty.
func (k airflowKind) take(secrets map[string]*string) ([]string, error) {
	taken := make([]string, len(k.secrets))
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		i := slices.Index(k.secrets, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no %s here, only %s", name, strings.Join(k.secrets, " and "))
		}
		if secrets[name] != nil {
			taken[i] = *secrets[name]
		}
	}
	return taken, nil
}
