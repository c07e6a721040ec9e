// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package airflowtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
)

// Call makes one call to the server as Admin and returns the reply. The path
// begins with "/api/v2/"; body is JSON, or nil. It fails the test for any status
// but 2xx.
func (a *Airflow) Call(t testing.TB, method, path string, body any) []byte {
	t.Helper()
	return a.call(t, a.Token(t, Admin), method, path, body)
}

// Token logs a user in: Admin or Viewer.
func (a *Airflow) Token(t testing.TB, user string) string {
	t.Helper()
	var reply struct {
		AccessToken string `json:"access_token"`
	}
	login := a.call(t, "", http.MethodPost, "/auth/token", map[string]string{"username": user, "password": user})
	if err := json.Unmarshal(login, &reply); err != nil || reply.AccessToken == "" {
		t.Fatalf("log in as %s: %v\n%s", user, err, login)
	}
	return reply.AccessToken
}

func (a *Airflow) call(t testing.TB, token, method, path string, body any) []byte {
	t.Helper()
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, a.URL+path, &content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	said, err := io.ReadAll(reply.Body)
	if err != nil || reply.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %s: %v\n%s", method, path, reply.Status, err, said)
	}
	return said
}
