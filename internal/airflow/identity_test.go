// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"errors"
	"strings"
	"testing"
)

type identityTable struct {
	header
	RunTypes    []string `json:"run_types"`
	OutsideTask []struct {
		Name      string  `json:"name"`
		Argument  *string `json:"owner_argument"`
		Refused   string  `json:"refused"`
		Presented string  `json:"owner_presented"`
		Holder    string  `json:"holder"`
	} `json:"outside_task"`
	Cases []struct {
		Name      string  `json:"name"`
		DagID     string  `json:"dag_id"`
		RunID     string  `json:"run_id"`
		TaskID    string  `json:"task_id"`
		MapIndex  *int    `json:"map_index"`
		Argument  *string `json:"owner_argument"`
		Owner     string  `json:"dag_run_owner"`
		Presented string  `json:"owner_presented"`
		Holder    string  `json:"holder"`
		RunIDFrom string  `json:"run_id_from"`
		Accepted  struct {
			DagID  bool `json:"dag_id"`
			RunID  bool `json:"run_id"`
			TaskID bool `json:"task_id"`
		} `json:"accepted_by_airflow"`
	} `json:"cases"`
}

func TestAnOwnerIsMadeOfWhatAirflowTakes(t *testing.T) {
	stricter := except(map[string]string{
		"run_custom_trailing_newline": "Airflow's pattern lets one trailing newline pass",
		"dag_trailing_newline":        "Airflow's pattern lets one trailing newline pass",
	})
	for _, row := range readTable[identityTable](t, "owner_holder.json").Cases {
		owner := DagRun{row.DagID, row.RunID}.Owner()
		err := errors.Join(CheckDagID(row.DagID), CheckRunID(row.RunID))
		accepted := row.Accepted.DagID && row.Accepted.RunID && !stricter.covers(row.Name)
		switch {
		case accepted && (err != nil || owner != row.Owner):
			t.Errorf("%s: %q, %v, want %q", row.Name, owner, err, row.Owner)
		case !accepted && err == nil:
			t.Errorf("%s: %q is accepted", row.Name, owner)
		case accepted && CheckOwner(owner) != nil:
			t.Errorf("%s: %v", row.Name, CheckOwner(owner))
		}
	}
	stricter.complete(t)
}

func TestHoldersReadBackAsTheirTaskInstance(t *testing.T) {
	const cannotBe = "Airflow refuses the Dag, run or task id, so that nobody holds this name"
	refused := except(map[string]string{
		"run_custom_empty":            cannotBe,
		"dag_space":                   cannotBe,
		"dag_bracket":                 cannotBe,
		"dag_251":                     cannotBe,
		"run_custom_trailing_newline": "a newline in a tag is not worth a risk",
		"dag_trailing_newline":        "a newline in a tag is not worth a risk",
	})
	ambiguous := except(map[string]string{
		"dag_slash":    cannotBe + "; read as the run of a shorter Dag id",
		"task_slash":   cannotBe + "; read as a longer run id",
		"task_bracket": cannotBe + "; read as a mapped task",
	})
	for _, row := range readTable[identityTable](t, "owner_holder.json").Cases {
		want := TaskInstance{DagRun{row.DagID, row.RunID}, row.TaskID, -1}
		if row.MapIndex != nil {
			want.MapIndex = *row.MapIndex
		}
		if row.Holder != want.Holder() || row.Owner != want.Owner() {
			t.Errorf("%s: we write %q and %q, Airflow %q and %q", row.Name, want.Owner(), want.Holder(), row.Owner, row.Holder)
		}
		got, ok := ParseHolder(row.Holder)
		run, isRun := ParseOwner(row.Owner)
		switch {
		case refused.covers(row.Name):
			if ok || isRun {
				t.Errorf("%s: read as %+v and %+v, want no run", row.Name, got, run)
			}
		case ambiguous.covers(row.Name):
			if !ok || got == want || got.Holder() != row.Holder {
				t.Errorf("%s: read as %+v, %t", row.Name, got, ok)
			}
		case !ok || got != want || !isRun || run != want.DagRun:
			t.Errorf("%s: read as %+v, %t and %+v, %t, want %+v", row.Name, got, ok, run, isRun, want)
		}
	}
	refused.complete(t)
	ambiguous.complete(t)
}

func TestCustomOwnersAreChecked(t *testing.T) {
	refused := except(map[string]string{
		"owner_empty":         "an empty owner counts as set in Airflow; in a configuration it is a mistake",
		"owner_newline":       "breaks every table and log in which it is shown",
		"outside_empty_owner": "as owner_empty",
	})
	check := func(name string, owner *string) {
		if owner == nil {
			return
		}
		if err := CheckOwner(*owner); (err != nil) != refused.covers(name) {
			t.Errorf("%s: CheckOwner(%q) = %v", name, *owner, err)
		}
	}
	table := readTable[identityTable](t, "owner_holder.json")
	for _, row := range table.Cases {
		check(row.Name, row.Argument)
	}
	for _, row := range table.OutsideTask {
		check(row.Name, row.Argument)
		if row.Presented != row.Holder {
			t.Errorf("%s: outside a task the owner is the holder too", row.Name)
		}
	}
	refused.complete(t)
}

func TestOwnersThatBreakThingsAreRefusedWithTheReason(t *testing.T) {
	for name, row := range map[string]struct{ owner, says string }{
		"10,000 characters": {strings.Repeat("x", 10_000), "501"},
		"newline":           {"a\nb", "newline"},
		"line separator":    {"a\u2028b", "newline"},
		"escape":            {"a\x1b[31m", "control character"},
		"NUL":               {"a\x00", "control character"},
		"not UTF-8":         {"a\xff", "UTF-8"},
		"empty":             {"", "leave it out"},
	} {
		err := CheckOwner(row.owner)
		if err == nil || !strings.Contains(err.Error(), row.says) || len(err.Error()) > 300 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, owner := range []string{"terraform:prod/analysis", "platform", "büro", strings.Repeat("é", MaxOwnerLength)} {
		if err := CheckOwner(owner); err != nil {
			t.Errorf("CheckOwner(%q) = %v", owner, err)
		}
	}
}

func TestAnOwnerWithAColonBeforeTheSlashIsNeverARun(t *testing.T) {
	for _, owner := range []string{"terraform:prod/analysis", "terraform:x", "a:b/c/d", ":/x", "terraform:prod/analysis/agent"} {
		if run, ok := ParseOwner(owner); ok {
			t.Errorf("ParseOwner(%q) = %+v", owner, run)
		}
		if task, ok := ParseHolder(owner); ok {
			t.Errorf("ParseHolder(%q) = %+v", owner, task)
		}
	}
}

func TestNamesThatNoTaskHasAreNotParsed(t *testing.T) {
	for _, holder := range []string{
		"", "/", "//", "///", "etl", "etl/run", "etl/run/", "etl//agent", "/run/agent", "etl/run/agent[", "etl/run/agent[]",
		"etl/run/agent[-1]", "etl/run/agent[07]", "etl/run/agent[+7]", "etl/run/agent[99999999999999999999]", "etl/run/agent]",
		"etl/run/a gent", "etl/run/agent[1][2]", "etl/run/agent\n", "etl/ru\x00n/agent", "etl/run/\xff", "[3]", "etl/run[3]",
	} {
		if task, ok := ParseHolder(holder); ok {
			t.Errorf("ParseHolder(%q) = %+v", holder, task)
		}
	}
}

// FuzzParseHolder: what parses is written back byte for byte, so that a name
// can never stand for another task instance.
func FuzzParseHolder(f *testing.F) {
	for _, seed := range []string{
		"etl/scheduled__2026-10-05T00:00:00+00:00/agent[7]", "terraform:prod/analysis", "a/b/c/d", "a/b[0]/c", "données/x/ä.b[10]", "a/b/c[00]", "//",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, holder string) {
		if task, ok := ParseHolder(holder); ok && task.Holder() != holder {
			t.Fatalf("ParseHolder(%q) = %+v, which is %q", holder, task, task.Holder())
		}
		if run, ok := ParseOwner(holder); ok && run.Owner() != holder {
			t.Fatalf("ParseOwner(%q) = %+v, which is %q", holder, run, run.Owner())
		}
	})
}
