// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

package airflowtest

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Serve starts the API server, waits until it listens, and stops it with the
// test. It returns the URL, without a slash at its end.
func (a *Airflow) Serve(t testing.TB) string {
	t.Helper()
	start(t, a.Command(context.Background(), "api-server", "--workers", "1"), "Uvicorn running on")
	return a.URL
}

// Schedule starts the scheduler, which runs the tasks on this host, and stops it
// with the test. It needs a server, and runs only the Dags that the database has:
// see Parse.
func (a *Airflow) Schedule(t testing.TB) {
	t.Helper()
	start(t, a.Command(context.Background(), "scheduler"), "Starting the scheduler")
}

// Parse reads the Dags into the database, as the Dag processor does.
func (a *Airflow) Parse(t testing.TB) {
	t.Helper()
	a.Run(t, "dags", "reserialize")
}

// start starts a program and waits for a line of its log that holds ready. With
// the test it is stopped, and with it all that it has started.
func start(t testing.TB, cmd *exec.Cmd, ready string) {
	t.Helper()
	log := newEventLog(ready)
	cmd.Stdout, cmd.Stderr = log, log
	if err := inSession(cmd).Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed
		close(ended)
	}()
	t.Cleanup(func() {
		_ = killSession(cmd.Process.Pid) // it may have ended
		<-ended
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(cmd.Args, " "), log)
		}
	})
	select {
	case <-log.seen:
	case <-ended:
		t.Fatalf("%s has ended", strings.Join(cmd.Args, " "))
	case <-time.After(patience):
		t.Fatalf("%s did not say %q within %s", strings.Join(cmd.Args, " "), ready, patience)
	}
}
