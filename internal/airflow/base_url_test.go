// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"strings"
	"testing"
)

func TestTheAddressOfAServerIsWhatStandsBeforeItsAPI(t *testing.T) {
	for address, want := range map[string]string{
		"https://airflow.example.com":       "https://airflow.example.com",
		"https://airflow.example.com/":      "https://airflow.example.com",
		"HTTP://127.0.0.1:8080":             "http://127.0.0.1:8080",
		"http://[::1]:8080//":               "http://[::1]:8080",
		"https://example.com/team/airflow/": "https://example.com/team/airflow",
		"https://example.com/api/v2x":       "https://example.com/api/v2x",
	} {
		if got, err := BaseURL(address); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", address, got, err, want)
		}
	}
}

func TestAWrongAddressIsRefusedAndNotRepeated(t *testing.T) {
	for address, want := range map[string]string{
		"":                                       "such as https://",
		"airflow.example.com":                    "such as https://",
		"ftp://airflow.example.com":              "such as https://",
		"https://":                               "such as https://",
		"https://:8080":                          "such as https://",
		"https://airflow.example.com:port":       "such as https://",
		"janitor:secret@airflow.example":         "such as https://",
		"https://janitor:secret@airflow.example": "without a user",
		"https://airflow.example.com?key=secret": "without a user",
		"https://airflow.example.com?":           "or what begins with ?",
		"https://airflow.example.com/#":          "or what begins with ? or #",
		"https://airflow.example.com/#/secret":   "or what begins with ? or #",
		"https://airflow.example.com/api/v2":     "without /api/v2",
		"https://airflow.example.com/api/v2//":   "without /api/v2",
		"https://airflow.example.com/a/api/v1/":  "without /api/v1",
		"https://airflow.example.com/api":        "without /api",
	} {
		got, err := BaseURL(address)
		if err == nil {
			t.Errorf("%s is taken, as %s", address, got)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
}
