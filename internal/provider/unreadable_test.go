// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// flowing is output without the line breaks that Terraform chose.
func flowing(output string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(output)), " ")
}

// spoil makes the record of a sandbox unreadable and returns what repairs it.
func (w *world) spoil(handle string) (repair func()) {
	w.t.Helper()
	file := filepath.Join(w.dir, "sandboxes", handle, "meta.json")
	good, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatal(err)
	}
	write(w.t, file, []byte("{"))
	return func() { write(w.t, file, good) }
}

func TestUnreadableRecordStopsNothingButWhatConcernsIt(t *testing.T) {
	w := newWorld(t)
	both := w.instance() + strings.ReplaceAll(w.instance(), `"it"`, `"other"`)
	ws := w.workspace(both)
	ws.apply()
	repair := w.spoil(ws.handle())

	if out := flowing(ws.must("plan", "-detailed-exitcode")); !strings.Contains(out, "cannot be read") ||
		!strings.Contains(out, "meta.json: not a record") || !strings.Contains(out, "rm -r") {
		t.Errorf("the plan does not warn with the file and what to do:\n%s", out)
	}
	changed := strings.ReplaceAll(both, `"1h"`, `"2h"`)
	ws.configure(changed)
	out, code := ws.terraform(nil, "apply", "-auto-approve")
	if code != 1 || !strings.Contains(flowing(out), "was not wholly updated") || !strings.Contains(out, "sandbox_instance.other: Modifications complete") {
		t.Errorf("exit %d, want the one to fail and the other to change:\n%s", code, out)
	}
	ws.configure(strings.ReplaceAll(w.instance(), `"1h"`, `"2h"`))
	if out, code = ws.terraform(nil, "apply", "-auto-approve"); code != 1 || !strings.Contains(out, "sandbox_instance.other: Destruction complete") {
		t.Errorf("exit %d, want the other to be destroyed:\n%s", code, out)
	}

	repair()
	ws.configure(w.instance())
	ws.quiet()
	ws.must("destroy", "-auto-approve")
}

func TestDestroyOfAnUnreadableRecordPromisesNeitherTheJanitorNorAnotherRun(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(w.instance())
	ws.apply()
	handle := ws.handle()
	repair := w.spoil(handle)
	for _, args := range [][]string{{"destroy", "-auto-approve"}, {"destroy", "-auto-approve", "-refresh=false"}} {
		out, code := ws.terraform(nil, args...)
		told := flowing(out)
		if code != 1 || strings.Contains(told, "Run the same command again") || strings.Contains(told, "only after its expiry") {
			t.Errorf("%v: exit %d, and it promises what does not help:\n%s", args, code, out)
		}
		if _, after, _ := strings.Cut(told, "Error:"); strings.Count(after, "not a record") != 1 {
			t.Errorf("%v: the cause is not said exactly once:\n%s", args, out)
		}
	}
	repair()
	ws.must("destroy", "-auto-approve")
}

func TestUnreadableRecordIsNotImported(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(w.instance())
	ws.apply()
	handle := ws.handle()
	ws.must("state", "rm", it)
	repair := w.spoil(handle)
	if out, code := ws.terraform(nil, "import", it, w.uri()+"#"+handle); code != 1 || !strings.Contains(flowing(out), "then import it") {
		t.Errorf("exit %d:\n%s", code, out)
	}
	repair()
	ws.must("import", it, w.uri()+"#"+handle)
	ws.must("destroy", "-auto-approve")
}

func TestSandboxThatIsReplacedForWhatHappenedToItSaysWhy(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace(w.instance())
	ws.apply()
	w.rewrite(func(record map[string]any) { record["status"] = "stopping" })
	if out := flowing(ws.must("plan")); !strings.Contains(out, "Teardown of a sandbox is half done") {
		t.Errorf("the plan does not say why it replaces:\n%s", out)
	}
	ws.apply()
	w.rewrite(func(record map[string]any) {
		record["expires_at"] = "2026-01-01T00:00:00Z"
	})
	if out := flowing(ws.must("plan")); !strings.Contains(out, "ended at 2026-01-01T00:00:00Z and runs nothing any more") {
		t.Errorf("the plan does not say why it replaces:\n%s", out)
	}
	ws.must("destroy", "-auto-approve")
}

func TestEndOrBirthThatOnlyAWrongClockExplainsIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		field, want string
	}{
		"end":   {"expires_at", "Sandbox ends later than its lifetime says"},
		"birth": {"created_at", "Sandbox was made in the future"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			ws := w.workspace(w.instance())
			ws.apply()
			if out := ws.must("plan"); strings.Contains(out, "Warning: Sandbox") {
				t.Errorf("it warns of a sandbox with a right clock:\n%s", out)
			}
			w.rewrite(func(record map[string]any) {
				record[tc.field] = "2096-01-01T00:00:00Z"
				if tc.field == "expires_at" {
					tags, _ := record["tags"].(map[string]any)
					tags["airflow_expires_at"] = "3976214400"
				}
			})
			if out := flowing(ws.must("plan", "-detailed-exitcode")); !strings.Contains(out, tc.want) {
				t.Errorf("the plan does not say %q:\n%s", tc.want, out)
			}
			ws.must("destroy", "-auto-approve")
		})
	}
}
