// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const preamble = "package p\n\nimport \"testing\"\n\nvar _ testing.T\n\n"

func TestRunSaysHonestlyWhatHappened(t *testing.T) {
	for _, test := range []struct {
		name    string
		source  string
		options options
		err     string   // part of the error; empty: success
		prints  []string // each somewhere in the output
	}{
		{
			name:   "children are counted, not their parents",
			source: `func TestA(t *testing.T) { t.Run("x", func(*testing.T) {}); t.Run("y", func(*testing.T) {}) }`,
			prints: []string{"ok  \texample.test/p", "2 passed, 0 failed\n"},
		},
		{
			name:   "a failure shows its output",
			source: `func TestA(t *testing.T) { t.Error("the reason") }; func TestB(t *testing.T) {}`,
			err:    "exit status 1",
			prints: []string{"the reason", "FAIL\texample.test/p", "1 passed, 1 failed\n"},
		},
		{
			name:   "a panic shows its output",
			source: `func TestA(t *testing.T) { panic("the reason") }`,
			err:    "exit status 1",
			prints: []string{"panic: the reason", "0 passed, 1 failed\n"},
		},
		{
			name:   "a skip is not a pass",
			source: `func TestA(t *testing.T) { t.Skip("no such tool") }; func TestB(t *testing.T) {}`,
			err:    "skipped without being allowed to",
			prints: []string{"example.test/p.TestA: ", "no such tool", "1 passed, 0 failed, 1 skipped\n"},
		},
		{
			name:    "an allowed skip shows why it is allowed",
			source:  `func TestA(t *testing.T) { t.Run("x", func(t *testing.T) { t.Skip("no such tool") }) }; func TestB(t *testing.T) {}`,
			options: options{skipList: "allowed"},
			prints:  []string{"allowed: only with the tool", "1 passed, 0 failed, 1 skipped\n"},
		},
		{
			name:    "a pattern allows what it matches, and nothing else",
			source:  `func TestC(t *testing.T) { for _, g := range []string{"V1", "V2"} { t.Run(g, func(t *testing.T) { t.Run("gpu", func(t *testing.T) { t.Skip("dear") }); t.Run("cpu", func(t *testing.T) { if g == "V2" { t.Skip("dear") } }) }) } }`,
			options: options{skipList: "allowed"},
			err:     "skipped without being allowed to (see allowed): example.test/p.TestC/V2/cpu",
			prints:  []string{"allowed: costs money", "1 passed, 0 failed, 3 skipped\n"},
		},
		{
			name:    "a lenient run still reports",
			source:  `func TestA(t *testing.T) { t.Skip("no such tool") }; func TestB(t *testing.T) {}`,
			options: options{lenient: true},
			prints:  []string{"no such tool", "1 passed, 0 failed, 1 skipped\n"},
		},
		{
			name:   "a package that does not compile",
			source: `func TestA(t *testing.T) { undefined() }`,
			err:    "exit status 1",
			prints: []string{"undefined: undefined", "FAIL\texample.test/p [build failed]"},
		},
		{
			name:   "nothing ran",
			source: ``,
			err:    "no test ran",
			prints: []string{"0 passed, 0 failed\n"},
		},
		{
			name:    "figures alone are printed, and a short one fails",
			source:  `func TestA(t *testing.T) { println(); t.Log("noise"); print("figure=f value=2 limit=1 verdict=short\n") }`,
			options: options{figures: true},
			err:     "1 figures fall short",
			prints:  []string{"figure=f value=2 limit=1 verdict=short\n"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, "go.mod", "module example.test/p\n\ngo 1.26\n")
			write(t, "p_test.go", preamble+test.source)
			write(t, "allowed", "# a comment\n\np.TestA  only with the tool\np.TestC/*/gpu costs money\n")
			test.options.tally = "tally"

			var out bytes.Buffer
			err := run(&out, test.options, []string{"./..."})
			switch {
			case test.err == "" && err != nil:
				t.Errorf("failed: %v", err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v, want %q", err, test.err)
			}
			for _, want := range test.prints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in:\n%s", want, out.String())
				}
			}
			if tally, err := os.ReadFile("tally"); err != nil || len(strings.Fields(string(tally))) != 3 {
				t.Errorf("tally %q, %v", tally, err)
			}
		})
	}
}

func TestAllowedSkipNeedsAReason(t *testing.T) {
	list := filepath.Join(t.TempDir(), "allowed")
	write(t, list, "p.TestA\n")
	if _, err := newReport(&bytes.Buffer{}, options{skipList: list}); err == nil {
		t.Error("a name without a reason was accepted")
	}
}

func TestAllowanceIsForThatTestOnly(t *testing.T) {
	r := &report{allowed: map[string]string{"internal/p.TestA": "reason"}}
	for name, want := range map[string]bool{
		"example.test/internal/p.TestA":   true,
		"example.test/internal/p.TestA/x": true,
		"example.test/internal/p.TestAB":  false,
		"example.test/internal/xp.TestA":  false,
		"example.test/other/p.TestA":      false,
	} {
		if _, got := r.allowance(name); got != want {
			t.Errorf("%s: allowed %v, want %v", name, got, want)
		}
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
