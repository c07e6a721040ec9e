// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/api"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/config"
)

// openAirflows opens the deployments that the selected connections believe. One
// that cannot be opened is reported by the run, and then nothing is believed.
func (a *app) openAirflows(s *site) {
	s.options.Airflow = make(map[string]janitor.Airflow)
	for i := range s.options.Connections {
		connection := &s.options.Connections[i]
		name := connection.Policy.Airflow.Name
		if name == "" || s.options.Airflow[name] != nil {
			continue
		}
		client, err := a.openAirflow(name, s.config.Airflow[name])
		if err != nil {
			connection.AirflowError = err
			continue
		}
		s.options.Airflow[name] = client
	}
}

// openAirflow takes the credentials from the variables that bear the name.
func (a *app) openAirflow(name string, deployment config.Airflow) (*api.Client, error) {
	token, username, password := config.Variables(name)
	options := api.Options{
		URL:   deployment.URL,
		Clock: a.clock,
		Token: os.Getenv(token), Username: os.Getenv(username), Password: os.Getenv(password),
	}
	for _, name := range []string{token, username, password} {
		if strings.ContainsAny(os.Getenv(name), "\r\n") {
			return nil, fmt.Errorf("%s holds a line break; a file that it was read from may end in one", name)
		}
	}
	person := options.Username != "" || options.Password != ""
	switch {
	case options.Token != "" && person:
		return nil, fmt.Errorf("there are two credentials for it: set %s, or %s and %s, and not both", token, username, password)
	case options.Token == "" && (options.Username == "" || options.Password == ""):
		return nil, fmt.Errorf("there are no credentials for it: set %s, or %s and %s", token, username, password)
	}
	return api.New(options)
}
