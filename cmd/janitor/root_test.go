// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
