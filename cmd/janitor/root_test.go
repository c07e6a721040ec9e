// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/taskowned/terraform-provider-sandbox/internal/janitor"
	"github.com/taskowned/terraform-provider-sandbox/internal/sandbox"
	"github.com/taskowned/terraform-provider-sandbox/internal/verdict"
)

func TestDurationsAreLoggedWithTheirUnit(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a := &app{errs: file}
	if err := a.prepare(a.root()); err != nil {
		t.Fatal(err)
	}
	a.log.Info("run finished", "took", 1500*time.Millisecond)
	if text, err := os.ReadFile(file.Name()); err != nil || !strings.Contains(string(text), `"took":"1.5s"`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestAYesToAReleaseIsNoneToADestroy(t *testing.T) {
	claim := verdict.Verdict{Key: verdict.Key{Ref: sandbox.Ref{Handle: "box"}}, Outcome: verdict.Condemned, Mode: verdict.Enforce, Act: verdict.Release}
	approved := shown(janitor.Result{Connections: []janitor.ConnectionResult{{Name: "lab", Verdicts: []verdict.Verdict{claim}}}})
	destroy := claim
	destroy.Act = verdict.Destroy
	if !approved("lab", claim) || approved("lab", destroy) || approved("other", claim) {
		t.Error("what was not shown is approved, or what was shown is not")
	}
	for _, c := range []struct {
		reclaim, release int
		want             string
	}{
		{2, 0, "Reclaim 2? Files in them are lost."},
		{0, 1, "Release the claims on 1? Nothing is destroyed."},
		{2, 1, "Reclaim 2 and release the claims on 1? Files in what is reclaimed are lost."},
	} {
		if got := question(c.reclaim, c.release); got != c.want {
			t.Errorf("asks %q, want %q", got, c.want)
		}
	}
}
