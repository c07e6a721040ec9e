// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow/airflowtest"
)

// pythonClient is Modal's Python client, driven by testdata/client.py.
type pythonClient struct {
	t       *testing.T
	in      io.Writer
	answers *bufio.Scanner
	r       *recorder
}

// interpreter returns a Python with the pinned client.
func interpreter(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("in short: making a Python environment needs a package index")
	}
	python, err := airflowtest.Interpreter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return python
}

func (s *Server) pythonClient(t *testing.T, r *recorder, generation Generations) *pythonClient {
	t.Helper()
	python := exec.Command(interpreter(t), "-u", "testdata/client.py") // ends with its input
	python.Env = append(os.Environ(), s.Environ()...)
	python.Env = append(python.Env, "MODAL_SANDBOX_V2="+map[Generations]string{V1: "0", V2: "1"}[generation])
	var complaints bytes.Buffer
	python.Stderr = &complaints
	in, err := python.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := python.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := python.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := python.Wait(); err != nil {
			t.Errorf("%v\n%s", err, complaints.String())
		}
	})
	return &pythonClient{t: t, in: in, answers: bufio.NewScanner(out), r: r}
}

// do has an operation done and returns what the client saw. In the middle of one
// the client may ask to wait until calls have come.
func (p *pythonClient) do(name string) string {
	fmt.Fprintln(p.in, name)
	for p.answers.Scan() {
		var answer struct {
			Saw  string
			Wait map[string]int
		}
		if err := json.Unmarshal(p.answers.Bytes(), &answer); err != nil {
			p.t.Fatal(err)
		}
		if answer.Wait == nil {
			return answer.Saw
		}
		p.r.until(answer.Wait)
		fmt.Fprintln(p.in)
	}
	p.t.Fatalf("%s: the client ended", name)
	return ""
}

func (p *pythonClient) steps(names ...string) []step {
	steps := make([]step, len(names))
	for i, name := range names {
		steps[i] = step{name: name, do: func() string { return p.do(name) }, saw: airflowSaw[name]}
	}
	return steps
}

// airflowSaw is what this client sees in the operations of Airflow's backend,
// whose own results the record has.
var airflowSaw = map[string]string{
	"run_command":           `(3, 'hi bar\n/workspace\n', 'err\n', True)`,
	"list_missing":          "raises SandboxFilesystemNotFoundError",
	"read_file":             "hello\nhello\nhello\n",
	"read_missing":          "1",
	"export_file":           `('18\n', 'aGVsbG8KaGVsbG8KaGVsbG8K\n')`,
	"read_tags":             "['airflow_expires_at', 'airflow_network', 'airflow_owner', 'airflow_sandbox', 'airflow_workdir', 'team']",
	"run_timeout":           "(-1, '', '', True)",
	"run_selfkill":          "(137, '', '', True)",
	"attach":                "dag/run1",
	"attached":              "dag/run1",
	"toolset.run":           "3\nUid:\t1000\t1000\t1000\t1000\n",
	"toolset.list":          "['a', 'big.bin', 't.txt']",
	"toolset.read":          "tt",
	"attach_wrong_owner":    "dag/run1", // which Airflow refuses
	"run_after_destroy":     "raises ConflictError",
	"attach_unknown":        "raises NotFoundError",
	"test_connection":       "None",
	"exec_noseed":           "x\n",
	"kill_during_exec":      `(137, 'before\n', False)`,
	"run_cached_after_term": "raises NotFoundError",
	"run_fresh_after_term":  "raises NotFoundError",
	"exhausted_create":      "raises ResourceExhaustedError",
	"jwt_refresh":           "y\n",
	"bigout":                "200000",
	"bg_process":            `(0, 'started\n', '')`,
	"block_ports":           "raises InvalidError",
}

// TestPythonClientMakesTheRecordedCallsAndSeesTheSame does again what the record
// has of Modal's Python client, on both generations: the calls of Airflow's
// backend, and those of the SDK.
func TestPythonClientMakesTheRecordedCallsAndSeesTheSame(t *testing.T) {
	for generation, name := range map[Generations]string{V1: "py_v1", V2: "py_v2"} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder()
			s := start(t, Options{Watch: r.watch, DeadlineReportDelay: time.Second})
			p := s.pythonClient(t, r, generation)
			replay(t, r, recordedOperations(t, name), p.steps(
				"create", "run_command", "write_file", "write_file_big", "list_directory", "list_missing",
				"read_file", "read_missing", "export_file", "read_tags", "write_tags", "run_timeout", "run_selfkill",
				"attach", "attached", "toolset.run", "toolset.write", "toolset.list", "toolset.read", "release",
				"tags_after_release", "attach_wrong_owner", "destroy", "destroy_again", "run_after_destroy",
				"attach_unknown", "test_connection",
				"sdk.create", "sdk.create_dupname", "sdk.list", "sdk.from_name", "sdk.from_id", "sdk.exec_text",
				"sdk.exec_stdin", "sdk.poll", "sdk.terminate_wait", "sdk.poll_after", "sdk.image_build", "sdk.entrypoint",
			), map[string]string{"sdk.snapshot_fs": "snapshots are not emulated"})
		})
	}
}

// TestPythonClientMeetsTheRecordedEdges does what the record has of a server
// that delays, throttles and fails.
func TestPythonClientMeetsTheRecordedEdges(t *testing.T) {
	r := newRecorder()
	s := start(t, Options{
		Watch: r.watch, NoSeededAccess: true, KeepTaskID: true, PollLag: time.Second, AccessLifetime: 20 * time.Second,
	})
	p := s.pythonClient(t, r, V2)
	steps := p.steps(
		"create_noseed", "exec_noseed", "kill_during_exec", "terminate", "poll_lag", "run_cached_after_term",
		"run_fresh_after_term", "wait", "throttled_create", "exhausted_create", "unavailable_create", "throttled_tagset",
		"jwt_refresh", "bigout", "bg_process", "set_name", "net", "block_ports",
	)
	throttled := Fault{Code: codes.ResourceExhausted, RetryAfter: 50 * time.Millisecond}
	twice := throttled
	twice.Times = 2
	prepare := map[string]func(){
		"throttled_create":   func() { s.Fail("SandboxCreateV2", twice) },
		"exhausted_create":   func() { s.Fail("SandboxCreateV2", Fault{Code: codes.ResourceExhausted}) },
		"unavailable_create": func() { s.Fail("SandboxCreateV2", Fault{Code: codes.Unavailable}) },
		"throttled_tagset":   func() { s.Fail("SandboxTagsSetV2", throttled) },
		"jwt_refresh": func() {
			p.do("exec_noseed")
			s.Fail("TaskExecStart", Fault{Code: codes.Unauthenticated})
		},
		"net": func() { p.do("reopen") },
	}
	for i := range steps {
		steps[i].prepare = prepare[steps[i].name]
	}
	replay(t, r, recordedOperations(t, "edge"), steps, nil)
}
