// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"

	"github.com/taskowned/terraform-provider-sandbox/internal/airflow"
	"github.com/taskowned/terraform-provider-sandbox/internal/clock"
	emulator "github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

// What Airflow's ModalSandboxBackend takes and we refuse.
var modalStricter = map[string]string{
	"timeout_huge":         "Modal ends every sandbox after a day, so that a longer lifetime would not be kept",
	"timeout_over_a_day":   "Modal ends every sandbox after a day, so that a longer lifetime would not be kept",
	"idle_small":           "Modal counts whole seconds, and Airflow's whole part of half a second is no idle timeout at all",
	"workdir_unnormalised": "commands start in the cleaned path, and the tag would name another one",
	"conn_id_empty":        "a name of a credential set that is empty names none; left out, there is none",

	"owner_empty_string_is_stamped":            "an owner that is empty is none, and is left out",
	"author_reserved_overwritten":              "a tag of Airflow's is not a person's to write",
	"author_owner_survives_without_spec_owner": "a tag of Airflow's is not a person's to write",
	"author_holder_survives":                   "a tag of Airflow's is not a person's to write",
	"author_future_reserved_key":               "a tag of Airflow's is not a person's to write",
}

// What Airflow's ModalSandboxBackend refuses and we take.
var modalLaxer = map[string]string{
	"timeout_119":   "a bound for sandboxes of one task, whose slowest file operation may take so long; ours stands, and is attached to when little is left of it too",
	"timeout_119.9": "as timeout_119",
}

// What cannot be written in Terraform.
var modalUnspeakable = map[string]string{
	"memory_small_float": "memory_mib is a whole number here",

	"no_spec":                                 "a policy that is left out denies everything here, and is stamped",
	"author_network_survives_without_spec":    "a policy that is left out denies everything here, and is stamped",
	"workdir_null_no_tag":                     "a workdir that is left out is the default here, and is stamped",
	"author_workdir_survives_without_workdir": "a workdir that is left out is the default here, and is stamped",
	"author_non_string_value":                 "values of tags are strings here",
}

// What is taken by both, and means something else.
var modalDifferent = map[string]string{
	"timeout_float_truncated": "a lifetime is kept: the second that is begun counts, where Airflow cuts it off",
	"idle_float_truncated":    "an idle timeout is kept: the second that is begun counts, where Airflow cuts it off",
}

// modalTable is what Airflow's released code does, see testdata of package airflow.
type modalTable struct {
	Source, Generated string
	Now               float64
	Constructor       []struct {
		Name      string
		Arguments map[string]any
		Result    string
	}
	Cases []struct {
		Name          string
		Backend, Spec map[string]any
		Refused       string
		birth
		TagOrder  []string `json:"tag_order"` // Modal keeps none
		AppLookup struct { // an instance makes its app where it is missing, in the environment of its URI
			Environment *string `json:"environment_name"`
			Create      bool    `json:"create_if_missing"`
		} `json:"app_lookup"`
	}
}

func TestAModalDefinitionMeansWhatItMeansInAirflow(t *testing.T) {
	m := newModalPair(t)
	for _, row := range m.table.Constructor {
		wanted := row.Result == "ok"
		if !wanted && row.Result != "value_error" && row.Result != "python_error:TypeError" {
			t.Errorf("%s: the result %q is not known", row.Name, row.Result)
		}
		if m.excepts(modalStricter, row.Name) || m.excepts(modalLaxer, row.Name) {
			wanted = !wanted
		}
		m.plan(row.Name, row.Arguments, nil, wanted)
	}
	for _, row := range m.table.Cases {
		wanted := row.Refused == "" && !m.excepts(modalStricter, row.Name)
		plan, taken := m.plan(row.Name, row.Backend, row.Spec, wanted)
		if !taken {
			continue
		}
		diff := cmp.Diff(row.birth, m.born(row.Name, plan), cmpopts.EquateEmpty())
		if different := m.excepts(modalDifferent, row.Name); (diff != "") != different {
			t.Errorf("%s: different: %t, want %t (-Airflow's +ours):\n%s", row.Name, diff != "", different, diff)
		}
	}
	for name, met := range m.met {
		if !met {
			t.Errorf("%q is an exception that no row needs", name)
		}
	}
}

// modalPair is the provider, and an emulator that both live at the moment of the
// table.
type modalPair struct {
	t      *testing.T
	table  modalTable
	wire   *wire
	server *emulator.Server
	met    map[string]bool // exceptions, and whether there is such a row

	mu    sync.Mutex
	calls []proto.Message // that make a sandbox
}

func newModalPair(t *testing.T) *modalPair {
	t.Helper()
	m := &modalPair{t: t, met: map[string]bool{}}
	readStrictly(t, "../airflow/testdata/modal_tags.json", &m.table)
	for _, exceptions := range []map[string]string{modalStricter, modalLaxer, modalUnspeakable, modalDifferent} {
		for name := range exceptions {
			m.met[name] = false
		}
	}
	now := clock.NewFake(time.UnixMicro(int64(m.table.Now * 1e6)))
	server, err := emulator.Start(emulator.Options{Clock: now, Watch: m.watch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, variable := range server.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	w := emptyWorld(t)
	w.clock = now
	m.wire, m.server = w.wire(), server
	return m
}

func (m *modalPair) watch(call emulator.Call) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !call.After && strings.HasPrefix(call.Method, "SandboxCreate") {
		m.calls = append(m.calls, call.Request)
	}
}

func (m *modalPair) excepts(exceptions map[string]string, row string) bool {
	_, listed := exceptions[row]
	if listed {
		m.met[row] = true
	}
	return listed
}

// plan plans what a row asks for, a connection and an instance on it, unless
// that cannot be written. It reports whether there is a plan.
func (m *modalPair) plan(row string, arguments, spec map[string]any, wanted bool) (plan firstPlan, taken bool) {
	m.t.Helper()
	if m.excepts(modalUnspeakable, row) {
		return firstPlan{}, false
	}
	connection, instance, err := translate(arguments, spec)
	if err != nil {
		m.t.Errorf("%s: %v", row, err)
		return firstPlan{}, false
	}
	plan, refusal := m.wire.first(m.t.Context(), "sandbox_connection", connection)
	if refusal == "" {
		instance["connection_uri"] = m.wire.texts(m.wire.kinds["sandbox_connection"], plan.plan.PlannedState)["uri"]
		plan, refusal = m.wire.first(m.t.Context(), instanceType, instance)
	}
	if taken = refusal == ""; taken != wanted {
		m.t.Errorf("%s: taken: %t, want %t; %s", row, taken, wanted, refusal)
	}
	return plan, taken
}

// born applies a plan, and returns what the one create call carried.
func (m *modalPair) born(row string, plan firstPlan) birth {
	m.t.Helper()
	applied := m.wire.apply(m.t.Context(), plan)
	if len(applied.Diagnostics) > 0 {
		m.t.Errorf("%s: %s", row, said(applied.Diagnostics))
	}
	m.mu.Lock()
	calls := m.calls
	m.calls = nil
	m.mu.Unlock()
	if len(calls) != 1 {
		m.t.Fatalf("%s: %d create calls, want 1", row, len(calls))
	}
	b := readBirth(calls[0])
	tag, name := b.Tags[airflow.TagSandbox], b.Keywords["name"]
	if tag != name {
		m.t.Errorf("%s: the tag calls it %v, and the call %v", row, tag, name)
	}
	for _, made := range m.server.Sandboxes() {
		if made.Name == name {
			b.App = made.App
		}
	}
	// The random part of a name is the table's.
	b.Tags[airflow.TagSandbox], b.Keywords["name"] = frozenName, frozenName
	return b
}
