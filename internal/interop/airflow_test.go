// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
)

// airflowWorker is testdata/worker.py: the released providers in a process of their
// own, as a worker has them, outside a task. One operation is done at a time.
type airflowWorker struct {
	process    *exec.Cmd
	in         io.WriteCloser
	answers    *bufio.Scanner
	complaints bytes.Buffer
}

// answer is what an operation came to.
type answer struct {
	Result json.RawMessage
	Error  *failure
	Logs   []logLine
}

// failure is an exception of Airflow's.
type failure struct {
	Type     string
	Terminal bool // the task fails, and is not retried by the model
	Message  string
}

type logLine struct{ Level, Message string }

func startAirflow() (*airflowWorker, error) {
	python, err := airflowtest.Interpreter(context.Background())
	if err != nil {
		return nil, err
	}
	a := &airflowWorker{process: exec.Command(python, "-u", "testdata/worker.py")} // ends with its input
	a.process.Env = append(os.Environ(), "AIRFLOW_HOME="+filepath.Join(workplace, "worker"), "AIRFLOW__CORE__LOAD_EXAMPLES=False")
	a.process.Stderr = &a.complaints
	if a.in, err = a.process.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.answers = bufio.NewScanner(out)
	a.answers.Buffer(nil, 16<<20)
	return a, a.process.Start()
}

func (a *airflowWorker) close() error {
	_ = a.in.Close()
	if err := a.process.Wait(); err != nil {
		return fmt.Errorf("the worker: %w\n%s", err, a.complaints.String())
	}
	return nil
}

type arguments map[string]any

// do has an operation done.
func (a *airflowWorker) do(t *testing.T, operation string, args arguments) answer {
	t.Helper()
	request, err := json.Marshal(map[string]any{"do": operation, "with": args})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(a.in, "%s\n", request); err != nil {
		t.Fatal(err)
	}
	if !a.answers.Scan() {
		t.Fatalf("the worker ended: %v\n%s", a.answers.Err(), a.complaints.String())
	}
	var answered answer
	if err := json.Unmarshal(a.answers.Bytes(), &answered); err != nil {
		t.Fatalf("%s: %v", a.answers.Bytes(), err)
	}
	return answered
}

// ask has an operation done that must succeed, and returns what it gave.
func ask[T any](t *testing.T, operation string, args arguments) (result T) {
	t.Helper()
	answered := worker.do(t, operation, args)
	if answered.Error != nil {
		t.Fatalf("%s: %+v", operation, *answered.Error)
	}
	if err := json.Unmarshal(answered.Result, &result); err != nil {
		t.Fatalf("%s: %v", operation, err)
	}
	return result
}

// attach enters the block of a toolset that must be let in, and returns what the
// model is told of the sandbox.
func attach(t *testing.T, handle, owner string) (told string) {
	t.Helper()
	return ask[string](t, "attach", arguments{"handle": handle, "owner": owner})
}

// release ends the block, and returns what was logged.
func release(t *testing.T, handle string) []logLine {
	t.Helper()
	answered := worker.do(t, "release", arguments{"handle": handle})
	if answered.Error != nil {
		t.Fatalf("release: %+v", *answered.Error)
	}
	return answered.Logs
}

// call has the model's tool called within the block.
func call(t *testing.T, handle, tool string, args arguments) (said string) {
	t.Helper()
	return ask[string](t, "tool", arguments{"handle": handle, "name": tool, "args": args})
}

// wantRefused checks that the task fails with these words.
func wantRefused(t *testing.T, what string, answered answer, words string) {
	t.Helper()
	if failed := answered.Error; failed == nil || !failed.Terminal || !strings.Contains(failed.Message, words) {
		t.Errorf("%s: %+v, want a terminal error that says %q", what, failed, words)
	}
}

// warned returns the warnings among lines.
func warned(lines []logLine) (messages []string) {
	for _, line := range lines {
		if line.Level == "WARNING" {
			messages = append(messages, line.Message)
		}
	}
	return messages
}
