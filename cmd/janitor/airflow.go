// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/api"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/janitor/config"
)

// openAirflows opens the deployments that the selected connections believe. One
// that cannot be opened tells why when it is asked, and then nothing is believed.
func (a *app) openAirflows(s *site) {
	s.options.Airflow = make(map[string]janitor.Airflow)
	for _, name := range s.names {
		name := s.config.Connections[name].Airflow
		deployment, known := s.config.Airflow[name]
		if !known || s.options.Airflow[name] != nil {
			continue
		}
		client, err := a.openAirflow(name, deployment)
		if err != nil {
			s.options.Airflow[name] = speechless{err}
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
	if options.Token == "" && (options.Username == "" || options.Password == "") {
		return nil, fmt.Errorf("there are no credentials for it: set %s, or %s and %s", token, username, password)
	}
	return api.New(options)
}

// speechless is a deployment that could not be opened.
type speechless struct{ error }

// Ask says why.
func (s speechless) Ask(context.Context, airflow.Questions) (airflow.Answers, error) {
	return airflow.Answers{}, s.error
}
