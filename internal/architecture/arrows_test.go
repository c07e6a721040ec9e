// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package architecture

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// testArrows are the further arrows of tests, by directory; "*" stands for
// every directory: a test may use the vocabulary, the clock, Airflow's tags and
// a real Airflow to set its stage, figures, and the real parts around what it tests.
var testArrows = map[string][]string{
	"*":                      {"internal/sandbox", "internal/clock", "internal/airflow", "internal/airflow/airflowtest", "internal/figure"},
	"internal/backend/local": {"internal/backend/backendtest"},
	"internal/backend/modal": {"internal/backend/backendtest", "internal/emulator/modal"},
	"internal/e2e":           {"internal/terraformtest"},
	"internal/interop":       {"internal/airflow/api", "internal/backend", "internal/connect", "internal/emulator/modal", "internal/terraformtest"},
	"internal/provider":      {"internal/emulator/modal", "internal/verdict"},
	"cmd/janitor":            {"internal/emulator/modal"},
}

// drawnArrows reads the picture of ARCHITECTURE.md: in its first code block,
// "DIRECTORY  words → NAME, NAME" allows DIRECTORY to import internal/NAME.
// "main.go" is the root, "nothing" is nothing, "NAME/*" is every child.
func drawnArrows(page string) map[string][]string {
	arrows := make(map[string][]string)
	_, block, _ := strings.Cut(page, "```\n")
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		dir := strings.TrimSuffix(fields[0], "/")
		if dir == "main.go" {
			dir = "."
		}
		arrows[dir] = nil
		_, targets, _ := strings.Cut(line, "→")
		for target := range strings.SplitSeq(targets, ",") {
			if target = strings.TrimSpace(target); target != "" && target != "nothing" {
				arrows[dir] = append(arrows[dir], "internal/"+target)
			}
		}
	}
	return arrows
}

// undrawnArrows reports imports between our own packages that nobody drew, and
// packages that the picture does not show or that it shows and are not there.
func undrawnArrows(tree fs.FS, files []*file) []string {
	page, err := fs.ReadFile(tree, "ARCHITECTURE.md")
	if err != nil {
		return []string{err.Error()}
	}
	drawn := drawnArrows(string(page))
	dirs, groups := byDir(files)
	var breaches []string
	for _, dir := range dirs {
		allowed, shown := drawn[dir]
		if !shown && strings.HasPrefix(dir, "internal/") {
			breaches = append(breaches, dir+": ARCHITECTURE.md does not show this package")
		}
		for _, f := range groups[dir] {
			allowed := allowed
			if f.isTest() {
				allowed = slices.Concat(allowed, testArrows["*"], testArrows[dir])
			}
			for _, target := range f.imports() {
				if target != dir && !matches(allowed, target) {
					breaches = append(breaches, fmt.Sprintf("%s: imports %s, and ARCHITECTURE.md draws no such arrow", f.name, target))
				}
			}
		}
	}
	for dir := range drawn {
		if !slices.Contains(dirs, dir) {
			breaches = append(breaches, dir+": shown in ARCHITECTURE.md, but holds no Go files")
		}
	}
	return breaches
}

func matches(allowed []string, target string) bool {
	return slices.ContainsFunc(allowed, func(pattern string) bool {
		ok, err := path.Match(pattern, target)
		return ok && err == nil
	})
}
