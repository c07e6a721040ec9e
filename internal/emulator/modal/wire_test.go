// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package modal

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
)

// recordedCall is a call in modal_wire.json: an object, or the method with its
// code.
type recordedCall struct {
	text    string
	request map[string]any // nil: not recorded
}

func (c *recordedCall) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var call struct {
		RPC, Code string
		Req       map[string]any
	}
	err := json.Unmarshal(data, &call)
	c.text, c.request = call.RPC, call.Req
	if call.Code != "" {
		c.text += "!" + call.Code
	}
	return err
}

// operation is what a client did, and saw.
type operation struct {
	RPCs []recordedCall
	Saw  string `json:"client_saw"`
}

func (o *operation) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &o.RPCs) == nil {
		return nil
	}
	type plain operation
	return json.Unmarshal(data, (*plain)(o))
}

// recordedOperations reads one client's operations.
func recordedOperations(t *testing.T, client string) map[string]operation {
	t.Helper()
	data, err := os.ReadFile("testdata/modal_wire.json")
	if err != nil {
		t.Fatal(err)
	}
	var wire struct {
		Operations map[string]map[string]operation
	}
	if err := json.Unmarshal(data, &wire); err != nil {
		t.Fatal(err)
	}
	return wire.Operations[client]
}

// recorder keeps the calls that a server gets, as Options.Watch.
type recorder struct {
	mu      sync.Mutex
	changed sync.Cond
	open    int
	calls   []*Call
}

func newRecorder() *recorder {
	r := &recorder{}
	r.changed.L = &r.mu
	return r
}

func (r *recorder) watch(call Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !call.After {
		r.open++
		r.calls = append(r.calls, &call)
		r.changed.Broadcast()
		return
	}
	r.open--
	for _, open := range r.calls {
		if open.Number == call.Number {
			*open = call
		}
	}
	r.changed.Broadcast()
}

// take returns the calls since the last take, when all are answered.
func (r *recorder) take() []*Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.open > 0 {
		r.changed.Wait()
	}
	calls := r.calls
	r.calls = nil
	return calls
}

// until waits for so many calls of each method since the last take.
func (r *recorder) until(counts map[string]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		missing := maps.Clone(counts)
		for _, call := range r.calls {
			missing[call.Method]--
		}
		if !slices.ContainsFunc(slices.Collect(maps.Values(missing)), func(n int) bool { return n > 0 }) {
			return
		}
		r.changed.Wait()
	}
}

// order writes calls as the tables do. Those that follow a TaskExecStart run at
// once, and so do Python's look-ups of what a create needs: their order says
// nothing. Nor does the end of a call that the client gave up.
func order(calls []string) string {
	var all, atOnce []string
	flush := func() {
		slices.Sort(atOnce)
		all = append(all, atOnce...)
		atOnce = nil
	}
	for _, call := range calls {
		method, code, _ := strings.Cut(call, "!")
		if code == codes.Canceled.String() || code == codes.DeadlineExceeded.String() {
			call = method
		}
		switch method {
		case "SecretGetOrCreate", "EnvironmentGetOrCreate", "TaskExecStdioRead", "TaskExecStdinWriteStream", "TaskExecWait":
			atOnce = append(atOnce, call)
		default:
			flush()
			all = append(all, call)
		}
	}
	flush()
	return strings.Join(all, " ")
}

func callTexts(calls []*Call) []string {
	texts := make([]string, len(calls))
	for i, call := range calls {
		texts[i] = call.Method
		if call.Code != codes.OK {
			texts[i] += "!" + call.Code.String()
		}
	}
	return texts
}

func (o operation) callTexts() []string {
	texts := make([]string, len(o.RPCs))
	for i, call := range o.RPCs {
		texts[i] = call.text
	}
	return texts
}

// step is one recorded operation, to be done again.
type step struct {
	name    string
	prepare func()        // what the record leaves out
	do      func() string // returns what the client saw
	saw     string        // in place of the record; see the comment there
}

// replay does every step and compares calls, requests and results with the record. Every
// operation of the record is a step or one of left, with the reason.
func replay(t *testing.T, r *recorder, recorded map[string]operation, steps []step, left map[string]string) {
	t.Helper()
	for name := range recorded {
		known := slices.ContainsFunc(steps, func(s step) bool { return s.name == name })
		if _, named := left[name]; known == named {
			t.Errorf("%s is recorded: it must be a step, or have a reason why not", name)
		}
	}
	for _, s := range steps {
		want, ok := recorded[s.name]
		if !ok {
			t.Errorf("%s is not recorded", s.name)
			continue
		}
		if s.prepare != nil {
			s.prepare()
		}
		r.take()
		saw := s.do()
		calls := r.take()
		if got, want := order(callTexts(calls)), order(want.callTexts()); got != want {
			t.Errorf("%s:\n calls %s\n  want %s", s.name, got, want)
		}
		for _, call := range want.RPCs {
			if call.request != nil && !slices.ContainsFunc(calls, call.asks) {
				t.Errorf("%s: nobody asked for %s %v\n  but for %s", s.name, call.text, call.request, requests(calls))
			}
		}
		if s.saw != "" {
			want.Saw = s.saw
		}
		if want.Saw != "" && !matchesSaw(saw, want.Saw) {
			t.Errorf("%s:\n   saw %s\n  want %s", s.name, saw, want.Saw)
		}
	}
}
