// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package airflowtest

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Serve starts the API server, waits until it listens, and stops it with the
// test. It returns the URL, without a slash at its end.
func (a *Airflow) Serve(t testing.TB) string {
	t.Helper()
	a.start(t, "Uvicorn running on", "api-server", "--workers", "1")
	return a.URL
}

// Schedule starts the scheduler, which runs the tasks on this host, and stops it
// with the test. It needs a server, and runs only the Dags that the database has:
// see Parse.
func (a *Airflow) Schedule(t testing.TB) {
	t.Helper()
	a.start(t, "Starting the scheduler", "scheduler")
}

// Trigger starts the triggerer, without which what is deferred stays so, and
// stops it with the test.
func (a *Airflow) Trigger(t testing.TB) {
	t.Helper()
	a.start(t, "Starting the triggerer", "triggerer")
}

// Parse reads the Dags into the database, as the Dag processor does.
func (a *Airflow) Parse(t testing.TB) {
	t.Helper()
	a.Run(t, "dags", "reserialize")
}

// start starts a program and waits for a line of its log that holds ready. With
// the test it is stopped, and with it all that it has started.
func (a *Airflow) start(t testing.TB, ready string, args ...string) {
	t.Helper()
	log := newEventLog(ready)
	cmd := a.Command(context.Background(), args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() {
		stop(cmd, ended)
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(args, " "), log)
		}
	})
	select {
	case <-log.seen:
	case <-ended:
		t.Fatalf("%s has ended", args[0])
	case <-time.After(patience):
		t.Fatalf("%s did not say %q within %s", args[0], ready, patience)
	}
}

// stop kills a program's whole group at once: its home goes with the test, and
// nothing in it is worth an orderly end.
func stop(cmd *exec.Cmd, ended <-chan struct{}) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	<-ended
}
