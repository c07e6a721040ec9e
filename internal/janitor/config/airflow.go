// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

// Airflow is one Airflow deployment that may be asked what became of runs and
// tasks. Its credentials are in no file, see Variables.
type Airflow struct {
	URL        string `yaml:"url"`                  // of the API server, without /api/v2
	Deployment string `yaml:"deployment,omitempty"` // the tag taskowned_deployment of the sandboxes that are its own
}

// Variables name the environment variables that hold the credentials of the
// deployment of that name: a token, or a user's name and password.
func Variables(name string) (token, username, password string) {
	prefix := "AIRFLOW_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_"
	return prefix + "TOKEN", prefix + "USERNAME", prefix + "PASSWORD"
}

func (c *Config) checkAirflow(d *document) {
	variables := make(map[string]string) // the names of deployments, by their variables
	for _, name := range slices.Sorted(maps.Keys(c.Airflow)) {
		deployment, at := c.Airflow[name], []string{"airflow", name}
		if !validName.MatchString(name) {
			d.refuse("a deployment's name has letters, digits, dashes and underscores only", at...)
		}
		token, _, _ := Variables(name)
		if other, taken := variables[token]; taken {
			d.refuse(fmt.Sprintf("its credentials would be those of %q: both are read from %s", other, token), at...)
		}
		variables[token] = name
		address, err := airflow.BaseURL(deployment.URL)
		if err != nil {
			d.refuse(err.Error(), append(at, "url")...)
		}
		deployment.URL = address
		c.Airflow[name] = deployment
	}
}

// checkWitness refuses what would be asked nothing, or believed about too much.
func (c *Config) checkWitness(d *document, connection Connection, at []string) {
	if connection.Airflow == "" {
		if connection.Exclusive {
			d.refuse("says of no Airflow that the place is its alone: name it as airflow", append(at, "exclusive")...)
		}
		for _, rule := range verdict.Rules() {
			if rule.Reason.NeedsAirflow() && connection.Rules[rule.Reason] == Mode(verdict.Enforce) {
				d.refuse("nobody can be asked: name an Airflow as airflow", append(at, "rules", string(rule.Reason))...)
			}
		}
		return
	}
	deployment, known := c.Airflow[connection.Airflow]
	switch {
	case !known:
		d.refuse(fmt.Sprintf("no Airflow is named %q", connection.Airflow)+suggest(connection.Airflow, slices.Sorted(maps.Keys(c.Airflow))), append(at, "airflow")...)
	case deployment.Deployment == "" && !connection.Exclusive:
		d.refuse(fmt.Sprintf("no sandbox can be known for its own: give airflow.%s its deployment, or, where nothing else makes sandboxes here, set exclusive: true", connection.Airflow), append(at, "airflow")...)
	}
}

// witness is the deployment that is believed at a connection.
func (c Config) witness(connection Connection) verdict.Deployment {
	if connection.Airflow == "" {
		return verdict.Deployment{}
	}
	return verdict.Deployment{
		Name: connection.Airflow, Marker: c.Airflow[connection.Airflow].Deployment, Exclusive: connection.Exclusive,
	}
}
