// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"errors"
	"fmt"
	"strings"
)

// ModalConnection is what Airflow's ModalHook reads as these credentials
// (airflow/providers/modal/hooks/modal.py). The environment is always written:
// without one the worker's MODAL_ENVIRONMENT would decide.
func ModalConnection(environment, tokenID, tokenSecret string) (Connection, error) {
	switch {
	case environment == "":
		return Connection{}, errors.New("the Modal environment is empty: that of the worker would decide")
	case tokenID == "" && tokenSecret == "":
		return Connection{}, errors.New("token_id and token_secret are empty: Airflow would silently take whatever credentials its worker has")
	}
	if err := errors.Join(checkSecret("token_id", tokenID), checkSecret("token_secret", tokenSecret)); err != nil {
		return Connection{}, err
	}
	return Connection{
		Type: "modal", Login: tokenID, Password: tokenSecret,
		Extra: map[string]string{"environment": environment},
	}, nil
}

// checkSecret refuses what a missing or badly read secret becomes.
func checkSecret(name, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("%s is empty", name)
	case strings.TrimSpace(value) != value:
		return fmt.Errorf("%s begins or ends with white space, such as the line break of a file; use trimspace()", name)
	}
	return nil
}
