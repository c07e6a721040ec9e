// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package airflowtest

import (
	"strings"
	"testing"
)

func TestADagThatFailsIsAnErrorWithItsLog(t *testing.T) {
	if testing.Short() {
		t.Skip("in short: making a Python environment needs a package index")
	}
	a := New(t, "testdata/dags")
	if log, err := a.DagsTest(t, "fails"); err == nil || !strings.Contains(log, "on purpose") {
		t.Errorf("%v\n%s", err, log)
	}
	if wrote := a.Python(t, "testdata/script.py", "x"); wrote != "x 3.3.2\n" {
		t.Errorf("a script that prints its argument and Airflow's version wrote %q", wrote)
	}
}
