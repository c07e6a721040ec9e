// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
)

// The product's sentence, with a task that dies in its middle: its claim keeps
// everybody out until Airflow has told the janitor that it is over.
func TestTerraformDeclaresASandboxADagAttachesAndTheJanitorCleansUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must("terraform", "apply", "-auto-approve")
	w.write("outputs.json", w.must("terraform", "output", "-json"))
	airflow := w.schedule()
	w.configureJanitor(airflow.URL)

	run := airflow.trigger("")
	airflow.becomes(run, "collect", "success")
	if got := airflow.returned(run, "collect"); got != "Linux\n" {
		t.Errorf("the collector has read %q", got)
	}
	if holder := w.holder(); holder != "" {
		t.Errorf("after its run the sandbox is held by %s", holder)
	}

	killed := airflow.trigger("echo begun > report.txt; sleep 1000")
	w.until("the agent is at work", func() bool {
		report, err := w.command("sandbox", "exec", "modal:", "sb-", "--", "cat", "report.txt").Output()
		return err == nil && string(report) == "begun\n"
	})
	if err := syscall.Kill(airflow.task(killed, "agent").PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	airflow.becomes(killed, "agent", "failed")
	claim := dag + "/" + killed + "/agent"
	if holder := w.holder(); holder != claim {
		t.Fatalf("the sandbox is held by %q, want the claim of the dead task, %s", holder, claim)
	}

	shut := airflow.trigger("")
	airflow.becomes(shut, "agent", "failed")

	w.must("janitor", "sweep", "--auto-approve", "--config", "janitor.yaml") // a first look only notes it
	if holder := w.holder(); holder != claim {
		t.Fatalf("a first look has made the holder %q", holder)
	}
	var plan string
	w.until("the janitor plans to release the claim", func() bool {
		plan = w.must("janitor", "plan", "--config", "janitor.yaml")
		return strings.Contains(plan, "1 claim to release")
	})
	for _, evidence := range []string{"deployment laptop (tag taskowned_deployment)", claim, "task failed", "(Airflow laptop)"} {
		if !strings.Contains(plan, evidence) {
			t.Errorf("the plan does not tell of %q:\n%s", evidence, plan)
		}
	}
	w.must("janitor", "sweep", "--auto-approve", "--config", "janitor.yaml")
	if holder := w.holder(); holder != "" {
		t.Fatalf("after the sweep it is held by %s", holder)
	}

	next := airflow.trigger("")
	airflow.becomes(next, "collect", "success")
	w.must("terraform", "plan", "-detailed-exitcode") // which has nothing to do
	w.must("terraform", "destroy", "-auto-approve")
	if left := w.must("sandbox", "list", "modal:", "--output", "json"); strings.Contains(left, "sb-") {
		t.Errorf("these are left: %s", left)
	}
}

func (w *world) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// configureJanitor writes the guide's configuration, with this server, a state of
// its own and a short wait.
func (w *world) configureJanitor(url string) {
	w.t.Helper()
	const example = "http://127.0.0.1:8080"
	blocks := guideBlocks(w.t, "yaml")
	if len(blocks) != 1 || strings.Count(blocks[0], example) != 1 {
		w.t.Fatalf("the guide has no one configuration of the janitor with %s: %s", example, blocks)
	}
	w.write("janitor.yaml", strings.Replace(blocks[0], example, url, 1)+
		fmt.Sprintf("state: file://%s/janitor\ngrace: {stale_holder: 5s}\n", w.dir))
	w.env = append(w.env, "AIRFLOW_LAPTOP_USERNAME="+airflowtest.Viewer, "AIRFLOW_LAPTOP_PASSWORD="+airflowtest.Viewer)
}
