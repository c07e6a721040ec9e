// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
)

// runner is testdata/run_dags.py: a process that runs Dags one after another.
type runner struct {
	in      io.WriteCloser
	started map[string]bool          // by Dag
	ended   map[string]chan struct{} // by Dag
	over    chan struct{}            // closed when the process has ended
}

func newRunner(t *testing.T, env []string) *runner {
	t.Helper()
	python, err := airflowtest.Interpreter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, python, "testdata/run_dags.py", moment)
	var complaints, said bytes.Buffer
	cmd.Env, cmd.Stderr = env, &complaints
	r := &runner{
		started: map[string]bool{},
		ended:   map[string]chan struct{}{"attach": make(chan struct{}), "review": make(chan struct{})},
		over:    make(chan struct{}),
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		r.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		r.listen(io.TeeReader(out, &said))
		_ = cmd.Wait() // it is killed
		close(r.over)
	}()
	t.Cleanup(func() {
		stop()
		<-r.over
		if t.Failed() {
			t.Logf("the Dags:\n%s%s", &said, &complaints)
		}
	})
	return r
}

// listen reads what the process says, among it which Dag has ended.
func (r *runner) listen(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if dag, is := strings.CutPrefix(lines.Text(), "ended "); is {
			close(r.ended[dag])
		}
	}
	_, _ = io.Copy(io.Discard, out)
}

// start has a Dag run, once.
func (r *runner) start(t *testing.T, dag string) {
	t.Helper()
	if r.started[dag] {
		return
	}
	r.started[dag] = true
	if _, err := fmt.Fprintln(r.in, dag); err != nil {
		t.Fatal(err)
	}
}
