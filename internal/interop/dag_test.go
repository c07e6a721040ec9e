// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

//go:build linux

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
)

// moment is when the Dags run.
const moment = "2026-10-05T00:00:00+00:00"

// run is the run of a Dag in these tests.
func run(dag string) airflow.DagRun { return airflow.DagRun{DagID: dag, RunID: "manual__" + moment} }

// lab is the deployment of the cases.
var lab *deployment

// deployment is one Airflow with a server, into which Terraform's outputs were
// written, and the runs of its Dags.
type deployment struct {
	*airflowtest.Airflow
	reports string
	runner  *runner
}

// deploy starts the server, and what will run the Dags.
func deploy(t *testing.T) *deployment {
	t.Helper()
	dir := t.TempDir()
	outputs := filepath.Join(dir, "outputs.json")
	d := &deployment{reports: filepath.Join(dir, "reports")}
	document, err := json.Marshal(stack.outputs) // as terraform output -json writes it
	if err == nil {
		err = os.WriteFile(outputs, document, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	connection := airflowConnection(t)
	d.Airflow = airflowtest.New(t, "testdata/dags",
		"REPORT="+d.reports, "TERRAFORM_OUTPUTS="+outputs,
		"MODAL_TOKEN_ID=", "MODAL_TOKEN_SECRET=", // so that only a connection leads to Modal
		"AIRFLOW_CONN_MODAL_JSON="+connection.JSON, "AIRFLOW_CONN_MODAL_URI="+connection.URI,
		`AIRFLOW_CONN_SCRIPTED={"conn_type": "pydanticai", "extra": {"model": "test"}}`,
	)
	d.Serve(t)
	d.publish(t)
	d.runner = newRunner(t, d.Env())
	return d
}

// outcome is what a task came to.
type outcome struct {
	Task   string
	Index  int
	Output json.RawMessage
	Error  string
}

// outcomes returns those of a task once its Dag has run to the end.
func (d *deployment) outcomes(t *testing.T, dag, task string) (all []outcome) {
	t.Helper()
	d.runner.start(t, dag)
	select {
	case <-d.runner.ended[dag]:
	case <-d.runner.over:
		t.Fatal("the Dags do not run")
	}
	reports, err := os.ReadFile(d.reports)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(reports) {
		var o outcome
		if err := json.Unmarshal(line, &o); err != nil {
			t.Fatal(err)
		}
		if o.Task == task {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		t.Fatalf("task %s reported nothing:\n%s", task, reports)
	}
	slices.SortFunc(all, func(a, b outcome) int { return a.Index - b.Index })
	return all
}

// output returns what an only task instance gave.
func output[T any](t *testing.T, o outcome) (value T) {
	t.Helper()
	if err := json.Unmarshal(o.Output, &value); err != nil {
		t.Fatalf("task %s: %s, %v", o.Task, o.Error, err)
	}
	return value
}

func taskIsItsRunAndHoldsAsItself(t *testing.T) {
	during := output[sandbox.Tags](t, lab.outcomes(t, "attach", "of_the_run")[0])
	task := airflow.TaskInstance{DagRun: run("attach"), TaskID: "of_the_run", MapIndex: -1}
	if airflow.Holder(during) != task.Holder() || during[airflow.TagOwner] != task.Owner() {
		t.Errorf("during the block the tags are %v", during)
	}
	if left := airflow.Holder(tags(t, made(t, "of the run").Handle)); left != "" {
		t.Errorf("after the block %s holds it", left)
	}
}

// Which index comes first is Airflow's to choose.
func onlyOneIndexOfAMappedTaskHolds(t *testing.T) {
	all := lab.outcomes(t, "attach", "mapped")
	holder := airflow.Holder(tags(t, made(t, "mapped").Handle))
	held, ok := airflow.ParseHolder(holder)
	if !ok || held.DagRun != run("attach") || held.TaskID != "mapped" || held.MapIndex < 0 {
		t.Fatalf("%q holds it", holder)
	}
	if len(all) != 4 {
		t.Fatalf("%d indices reported", len(all))
	}
	for _, o := range all {
		if refused := strings.Contains(o.Error, "already held by '"+holder+"'"); refused == (o.Index == held.MapIndex) {
			t.Errorf("index %d came to %s %s while index %d held it", o.Index, o.Output, o.Error, held.MapIndex)
		}
	}
}

func handleIsRenderedForEachTaskInstance(t *testing.T) {
	for task, said := range map[string][]string{
		"from_variable": {"from the variable"}, "from_file": {"from the file"}, "of_an_index": {"the first", "the second"},
	} {
		all := lab.outcomes(t, "attach", task)
		for i, o := range all {
			if got := output[string](t, o); got != "[stdout]\n"+said[i] {
				t.Errorf("%s: the agent says %q", task, got)
			}
		}
	}
	for name, said := range map[string]string{"from a variable": "from the variable", "from a file": "from the file", "first": "the first", "second": "the second"} {
		var content bytes.Buffer
		handle := made(t, name).Handle
		if _, err := modal(t).ReadFile(t.Context(), sandbox.Ref{Handle: handle}, sandbox.DefaultWorkdir+"/out", 100, &content); err != nil || content.String() != said+"\n" {
			t.Errorf("%s: the file holds %q, %v", name, &content, err)
		}
		if holder := airflow.Holder(tags(t, handle)); holder != "" {
			t.Errorf("%s: %s holds it", name, holder)
		}
	}
	if written := output[string](t, lab.outcomes(t, "attach", "original")[0]); written != "{{ var.value.sandbox_handle }}" {
		t.Errorf("the Dag's own toolset attaches to %q now", written)
	}
	if refused := lab.outcomes(t, "attach", "nothing_pushed")[0].Error; !strings.Contains(refused, "attach_to rendered to 'None'") {
		t.Errorf("a handle that nobody pushed came to %q", refused)
	}
}

func templateAsOwnerStaysLiteral(t *testing.T) {
	if refused := lab.outcomes(t, "attach", "templated_owner")[0].Error; !strings.Contains(refused, "is not owned by '{{ dag.dag_id }}/{{ run_id }}'") {
		t.Errorf("it came to %q", refused)
	}
}

// shown waits until the agent has shown an output to its reviewer.
func (d *deployment) shown(t *testing.T, number int) {
	t.Helper()
	path := fmt.Sprintf("/api/v2/dags/review/dagRuns/%s/taskInstances/agent/xcomEntries", run("review").RunID)
	for {
		if bytes.Contains(d.Call(t, http.MethodGet, path, nil), fmt.Appendf(nil, "agent_output_%d", number)) {
			return
		}
		select {
		case <-d.runner.ended["review"]:
			t.Fatal("the run ended before its review")
		case <-d.runner.over:
			t.Fatal("the Dags do not run")
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (d *deployment) review(t *testing.T, what string, body any) {
	t.Helper()
	d.Call(t, http.MethodPost, "/hitl-review/sessions/"+what+"?dag_id=review&task_id=agent&run_id="+
		strings.ReplaceAll(run("review").RunID, "+", "%2B"), body)
}

func reviewHoldsNothingWhileAPersonReads(t *testing.T) {
	lab.runner.start(t, "review")
	handle := made(t, "reviewed").Handle
	holder := airflow.TaskInstance{DagRun: run("review"), TaskID: "agent", MapIndex: -1}.Holder()
	free := tags(t, handle)
	for number, answer := range []string{"feedback", "approve"} {
		lab.shown(t, number+1)
		wantTags(t, "while a person reads,", handle, free)
		lab.review(t, answer, map[string]string{"feedback": "cat out; echo second >> out"})
	}
	if said := output[string](t, lab.outcomes(t, "review", "agent")[0]); said != "[stdout]\ndraft" {
		t.Errorf("the approved output is %q", said)
	}
	claims := 0
	for _, written := range watched.tagsOf(handle) {
		if airflow.Holder(written) == holder {
			claims++
		}
	}
	if claims != 2 {
		t.Errorf("the task attached %d times, want once for each of two runs", claims)
	}
}
