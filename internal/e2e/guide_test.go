// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
)

// alreadyThere are the guide's only lines that are not run: they make the Python
// environment, which this repository keeps, from the same requirements.
var alreadyThere = []string{
	"python3 -m venv venv && . venv/bin/activate\n",
	"pip install --require-hashes -r \"$CLONE/internal/airflow/airflowtest/requirements.txt\"\n",
}

// guideBlocks are the guide's blocks in a language, in their order.
func guideBlocks(t *testing.T, language string) (blocks []string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(repository, "docs/guides/airflow.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		blocks = append(blocks, block[1])
	}
	return blocks
}

// commands are the guide's commands.
func commands(t *testing.T) string {
	t.Helper()
	script := strings.Join(guideBlocks(t, "sh"), "")
	for _, line := range alreadyThere {
		if strings.Count(script, line) != 1 {
			t.Fatalf("the guide does not say once: %s", line)
		}
		script = strings.Replace(script, line, "", 1)
	}
	return script
}

// shell runs a script in an empty folder, as somebody with Airflow installed and
// no other settings, and returns all that was said. What it leaves running is ended.
func shell(t *testing.T, script string) string {
	t.Helper()
	python, err := airflowtest.Interpreter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-eux", "-c", script)
	cmd.Dir = t.TempDir()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); !strings.HasPrefix(name, "AIRFLOW_") && !strings.HasPrefix(name, "MODAL_") {
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "CLONE="+repository, "HOME="+cmd.Dir, "PATH="+filepath.Dir(python)+":"+os.Getenv("PATH"), "NO_COLOR=1", "TF_CLI_ARGS=-no-color")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestTheGuideLeadsFromAnEmptyFolderToAnAttachedDag(t *testing.T) {
	t.Parallel()
	said := shell(t, commands(t))
	for _, fact := range []struct {
		words string
		times int
	}{
		{"Apply complete! Resources: 2 added", 1},
		{"Attached to sandbox sb-", 2}, // by either Dag
		{"Tool call sequence: write_file -> run_command", 2},
		{"Returned value was: Linux", 2}, // by the collector of either
		{"\nLinux\n", 1},
		{"No changes.", 1},
		{"Destroy complete! Resources: 2 destroyed", 1},
	} {
		if got := strings.Count(said, fact.words); got != fact.times {
			t.Errorf("%q was said %d times, want %d", fact.words, got, fact.times)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}
