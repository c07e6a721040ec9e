// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build unix

// Package airflowtest gives tests a real Airflow: a home with a database of its
// own, and the programs of Airflow that run on it, on this host alone. Its first
// use on a machine makes a Python environment, which needs a package index.
package airflowtest

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Who may log in to the server, with the same word as name and password.
const (
	Admin  = "admin"
	Viewer = "viewer" // reads everything, changes nothing
)

// patience bounds what must happen soon, on however busy a machine.
const patience = 2 * time.Minute

// Airflow is one Airflow with its own home, database and port.
type Airflow struct {
	// Home is its directory, empty but for its configuration and its database.
	Home string
	// URL is where its server is, once Serve has started it.
	URL string

	interpreter string
	env         []string
}

// New makes an Airflow that has the Dags in the directory dags, which may be
// empty, and settings such as "AIRFLOW__CORE__PARALLELISM=4" above its own.
// Nothing of it runs yet.
func New(t testing.TB, dags string, settings ...string) *Airflow {
	t.Helper()
	dags, err := filepath.Abs(dags)
	if err != nil {
		t.Fatal(err)
	}
	python, err := Interpreter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	a := &Airflow{Home: t.TempDir(), URL: "http://" + address, interpreter: python}
	a.configure(dags, address, settings)
	a.putDatabase(t)
	a.write(t, "passwords.json", fmt.Sprintf("{%q: %q, %q: %q}\n", Admin, Admin, Viewer, Viewer))
	a.write(t, "airflow.cfg", "# All settings are in the environment.\n") // else each program would make one, at once
	return a
}

func (a *Airflow) write(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(a.Home, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// configure sets what all programs of this Airflow agree on. Its variables win
// over what the caller's environment has of another Airflow.
func (a *Airflow) configure(dags, address string, settings []string) {
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "AIRFLOW_") {
			a.env = append(a.env, variable)
		}
	}
	_, port, _ := strings.Cut(address, ":")
	a.env = append(a.env,
		"AIRFLOW_HOME="+a.Home,
		"AIRFLOW__CORE__DAGS_FOLDER="+dags,
		"AIRFLOW__CORE__LOAD_EXAMPLES=False",
		"AIRFLOW__CORE__EXECUTION_API_SERVER_URL="+a.URL+"/execution/",
		"AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS="+Admin+":admin,"+Viewer+":viewer",
		"AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE="+filepath.Join(a.Home, "passwords.json"),
		"AIRFLOW__API__HOST=127.0.0.1",
		"AIRFLOW__API__PORT="+port,
		"AIRFLOW__API__BASE_URL="+a.URL,
		"AIRFLOW__API_AUTH__JWT_SECRET=for-one-test-on-this-host-alone-and-long-enough-for-its-algorithm",
		"AIRFLOW__API__SECRET_KEY=for-one-test",
		"AIRFLOW__CORE__FERNET_KEY=Zm9yLW9uZS10ZXN0LW9uLXRoaXMtaG9zdC1hbG9uZS4=",
		"AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT=120", // a busy machine fails no task
		"AIRFLOW__CORE__PARALLELISM=4",                // each task is a process
		"AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT=0",  // any: several Airflows may run at once
		"AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT=0",
		"PYTHONUNBUFFERED=1", // a line of a log is an event, and is not to be held back
	)
	a.env = append(a.env, settings...)
}

// Env is the environment in which the programs of this Airflow run.
func (a *Airflow) Env() []string { return a.env }

// Command is a command line of Airflow's, such as ("dags", "list"), not started.
// When ctx ends it is killed with all that it has started.
func (a *Airflow) Command(ctx context.Context, args ...string) *exec.Cmd {
	return a.python(ctx, append([]string{"-m", "airflow"}, args...)...)
}

// Run runs a command line of Airflow's and returns all that it wrote. It fails
// the test when the command fails.
func (a *Airflow) Run(t testing.TB, args ...string) string {
	t.Helper()
	return run(t, a.Command(t.Context(), args...))
}

// Python runs a script with this Airflow and returns what it wrote to standard
// output. It fails the test when the script fails.
func (a *Airflow) Python(t testing.TB, script string, args ...string) string {
	t.Helper()
	cmd := a.python(t.Context(), append([]string{script}, args...)...)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, &complaints)
	}
	return string(out)
}

// DagsTest runs one run of a Dag to its end in one process, as `airflow dags
// test` does, and returns its log. The error says that the run failed.
func (a *Airflow) DagsTest(t testing.TB, dag string, args ...string) (string, error) {
	t.Helper()
	out, err := a.Command(t.Context(), append([]string{"dags", "test", dag}, args...)...).CombinedOutput()
	return string(out), err
}

func (a *Airflow) python(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, a.interpreter, args...)
	cmd.Env = a.env
	return inSession(cmd)
}

func run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args[1:], " "), err, out)
	}
	return string(out)
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
