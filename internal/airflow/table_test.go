// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// readTable reads a table of testdata: what Airflow's released code does, as
// data. A field that T does not know fails the test, so that no row can ask
// something that is not checked.
func readTable[T any](t *testing.T, name string) T {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var table T
	if err := decoder.Decode(&table); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return table
}

// header is what every table begins with.
type header struct {
	Source    string `json:"source"`
	Generated string `json:"generated"`
}

// exceptions are rows in which we differ on purpose, by name, with the reason.
type exceptions struct {
	reasons map[string]string
	met     map[string]bool
}

func except(reasons map[string]string) exceptions {
	return exceptions{reasons, map[string]bool{}}
}

// exceptRows takes the rows of each reason.
func exceptRows(reasons map[string][]string) exceptions {
	byRow := map[string]string{}
	for reason, rows := range reasons {
		for _, row := range rows {
			byRow[row] = reason
		}
	}
	return except(byRow)
}

// covers reports whether row is an exception.
func (e exceptions) covers(row string) bool {
	_, ok := e.reasons[row]
	if ok {
		e.met[row] = true
	}
	return ok
}

// complete fails the test for an exception that is no longer in the table.
func (e exceptions) complete(t *testing.T) {
	t.Helper()
	for row, reason := range e.reasons {
		if !e.met[row] {
			t.Errorf("the table has no row %q any more (%s)", row, reason)
		}
	}
}

// stringList reads a JSON array of strings, dropping nulls, which Terraform
// refuses itself. False: the value is no such list.
func stringList(raw json.RawMessage) (list []string, ok bool) {
	var values []*string
	if string(raw) == "null" || raw == nil {
		return nil, true
	}
	if json.Unmarshal(raw, &values) != nil {
		return nil, false
	}
	for _, value := range values {
		if value != nil {
			list = append(list, *value)
		}
	}
	return list, true
}
