// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
)

// realReading is what the released Airflow reads from one text.
type realReading struct {
	Task   realConnection `json:"task"`
	Server realConnection `json:"server"`

	// What ModalHook and OpenSandboxBackend take.
	Modal       *connectionResult `json:"modal"`
	OpenSandbox *connectionResult `json:"opensandbox"`
}

// realConnection has extras of any type: the server takes each of a URI for JSON.
type realConnection struct {
	Connection
	Extra map[string]any `json:"extra"`
}

// written is one text of ours, and what it must be read as.
type written struct {
	row, kind, text string
	want            Connection
}

// as is what w must be read as, by "task" or "server".
func (w written) as(reader string) realConnection {
	want := realConnection{w.want, map[string]any{}}
	for key, text := range w.want.Extra {
		want.Extra[key] = text
		var value any
		if reader == "server" && !strings.HasPrefix(w.text, "{") && json.Unmarshal([]byte(text), &value) == nil {
			want.Extra[key] = value
		}
	}
	want.Connection.Extra = nil
	return want
}

// writeAll writes every row of the table that we write, in both forms.
func writeAll(t *testing.T) (all []written) {
	for _, row := range readTable[connectionTable](t, "connections.json").Cases {
		add := func(kind string, c Connection) {
			for _, write := range []func() (string, error){c.JSON, c.URI} {
				if text, err := write(); err == nil {
					all = append(all, written{row.Name, kind, text, c})
				}
			}
		}
		if c, ok := row.Read.connection(); ok {
			add("", c)
		}
		if row.Read != nil {
			if c, err := row.ofKind(cmp.Or(row.Result.APIKey, "key")); err == nil {
				add(row.Kind, c)
			}
		}
	}
	return all
}

// readByAirflow has the real Airflow read every text, in one process.
func readByAirflow(t *testing.T, all []written) []realReading {
	t.Helper()
	python, err := airflowtest.Interpreter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	questions := make([]map[string]string, len(all))
	for i, w := range all {
		questions[i] = map[string]string{"kind": w.kind, "conn_id": "sandbox", "value": w.text}
	}
	input, err := json.Marshal(questions)
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	command := exec.Command(python, "testdata/read_connections.py")
	command.Env = append(os.Environ(), "AIRFLOW_HOME="+t.TempDir())
	command.Stdin, command.Stderr = bytes.NewReader(input), &complaints
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	var readings []realReading
	if err := json.Unmarshal(output, &readings); err != nil {
		t.Fatal(err)
	}
	if len(readings) != len(all) || len(all) < 300 {
		t.Fatalf("%d texts, %d readings", len(all), len(readings))
	}
	return readings
}

func TestTheRealAirflowReadsWhatWasWrittenOnAWorkerAndOnItsServer(t *testing.T) {
	if testing.Short() {
		t.Skip("in short: making a Python environment needs a package index")
	}
	all := writeAll(t)
	for i, read := range readByAirflow(t, all) {
		w := all[i]
		for reader, connection := range map[string]realConnection{"task": read.Task, "server": read.Server} {
			if diff := gocmp.Diff(w.as(reader), connection, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: the %s reads %s differently\n%s", w.row, reader, w.text, diff)
			}
		}
		switch w.kind {
		case "modal":
			if !w.want.carries(w.kind, *read.Modal) {
				t.Errorf("%s: ModalHook takes %+v from %s", w.row, *read.Modal, w.text)
			}
		case "opensandbox":
			if !w.want.carries(w.kind, *read.OpenSandbox) || read.OpenSandbox.APIKey != w.want.Password {
				t.Errorf("%s: OpenSandboxBackend takes %+v from %s", w.row, *read.OpenSandbox, w.text)
			}
		}
	}
}
