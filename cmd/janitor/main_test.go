// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// binary is the janitor as users have it.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "janitor-")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		binary = filepath.Join(dir, "janitor")
		build := exec.Command("go", "build", "-ldflags", "-X main.version=1.2.3", "-o", binary, ".")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build the janitor:", err)
			return 1
		}
		return m.Run()
	}())
}

// TestScripts drives the binary over real sandboxes in state directories of
// this host. Each script says in its first line what it promises.
func TestScripts(t *testing.T) {
	examples, err := filepath.Abs("../../examples/janitor")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/script",
		WorkdirRoot: reachable(t),
		Setup: func(env *testscript.Env) error {
			dir := filepath.Join(env.WorkDir, "local")
			env.Vars = append(env.Vars,
				"PATH="+filepath.Dir(binary)+string(os.PathListSeparator)+os.Getenv("PATH"),
				"EXAMPLES="+examples,
				"NEWLINE=\n",
				"LOCAL=local://"+dir,
				"STATE="+filepath.Join(env.WorkDir, "state"),
				"JANITOR_CONFIG="+filepath.Join(env.WorkDir, "janitor.yaml"),
			)
			m, err := newMess(dir)
			airflow := newDouble()
			env.Defer(airflow.Close)
			env.Values[mess{}], env.Values[aDouble] = m, airflow
			return errors.Join(err, expandConfigurations(env, dir, airflow.URL))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"sandbox":  makeSandbox,
			"age":      ageSandbox,
			"tag":      tagSandbox,
			"leftover": makeLeftover,
			"alive":    isAlive,
			"airflow":  airflowIs,
			"heldby":   heldBy,
		},
	})
}

// expandConfigurations puts the script's own places into its YAML files: LOCAL
// is the connection URI, STATE the janitor's state and AIRFLOW a server.
func expandConfigurations(env *testscript.Env, dir, airflow string) error {
	files, err := filepath.Glob(filepath.Join(env.WorkDir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		places := strings.NewReplacer("LOCAL", "local://"+dir, "STATE", "file://"+filepath.Join(env.WorkDir, "state"), "AIRFLOW", airflow)
		if err := os.WriteFile(file, []byte(places.Replace(string(text))), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// exits runs "exits STATUS COMMAND...", and fails on any other status.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	status := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		status = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if want, err := strconv.Atoi(args[0]); err != nil || status != want {
		ts.Fatalf("exits with %d, want %s", status, args[0])
	}
}

// makeSandbox makes a sandbox and puts its handle into the variable NAME.
func makeSandbox(ts *testscript.TestScript, _ bool, args []string) {
	handle, err := ts.Value(mess{}).(mess).make()
	ts.Check(err)
	ts.Setenv(args[0], handle)
	ts.Setenv("ID_"+args[0], ts.Getenv("LOCAL")+"#"+handle)
}

// ageSandbox makes "age HANDLE DURATION" pass for one sandbox.
func ageSandbox(ts *testscript.TestScript, _ bool, args []string) {
	by, err := time.ParseDuration(args[1])
	ts.Check(err)
	ts.Check(ts.Value(mess{}).(mess).age(args[0], by))
}

func tagSandbox(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Value(mess{}).(mess).tag(args[0], args[1], args[2]))
}

func makeLeftover(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(ts.Value(mess{}).(mess).leftover(args[0]))
}

// isAlive is "[!] alive HANDLE".
func isAlive(ts *testscript.TestScript, neg bool, args []string) {
	alive, err := ts.Value(mess{}).(mess).alive(args[0])
	ts.Check(err)
	if alive == neg {
		ts.Fatalf("%s: alive is %t", args[0], alive)
	}
}
