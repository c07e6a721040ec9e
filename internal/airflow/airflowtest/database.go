// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package airflowtest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

const databaseName = "airflow.db"

// putDatabase gives the home a database with tables and without rows. To make
// one takes seconds: it is made once for each set of requirements, and kept
// beside the Python environment.
func (a *Airflow) putDatabase(t testing.TB) {
	t.Helper()
	environment := filepath.Dir(filepath.Dir(a.interpreter))
	template := filepath.Join(filepath.Dir(environment), "airflow-"+pinned(t)+".db")
	if _, err := os.Stat(template); err != nil {
		a.makeTemplate(t, template)
	}
	copyFile(t, filepath.Join(a.Home, databaseName), template)
}

// makeTemplate has Airflow make its tables, in a home of their own. Of two that
// come at once, both make them, and neither sees half of the other's.
func (a *Airflow) makeTemplate(t testing.TB, template string) {
	t.Helper()
	home := t.TempDir()
	cmd := a.Command(t.Context(), "db", "migrate")
	cmd.Env = append(cmd.Env, "AIRFLOW_HOME="+home)
	run(t, cmd)
	whole := template + "." + strconv.Itoa(os.Getpid())
	copyFile(t, whole, filepath.Join(home, databaseName))
	if err := os.Rename(whole, template); err != nil {
		t.Fatal(err)
	}
}

// pinned tells one set of requirements from another.
func pinned(t testing.TB) string {
	t.Helper()
	requirements, err := os.ReadFile(filepath.Join(here(), "requirements.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(requirements))[:12]
}

func copyFile(t testing.TB, to, from string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
