// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package architecture

import (
	"fmt"
	"go/ast"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxMainLines is how long a file with a func main may be: it wires, no more.
const maxMainLines = 50

// header opens every Go file.
const header = "// Copyright (c) taskowned contributors\n// SPDX-License-Identifier: MPL-2.0\n\n"

// namelessNames say nothing about what a package is for.
var namelessNames = []string{"util", "utils", "common", "helper", "helpers", "logging", "misc", "shared"}

func longMains(_ fs.FS, files []*file) []string {
	var breaches []string
	for _, f := range files {
		if f.lines > maxMainLines && declaresMain(f) {
			breaches = append(breaches, fmt.Sprintf("%s: %d lines, and a main may have %d", f.name, f.lines, maxMainLines))
		}
	}
	return breaches
}

func declaresMain(f *file) bool {
	return f.syntax.Name.Name == "main" && slices.ContainsFunc(f.syntax.Decls, func(d ast.Decl) bool {
		fn, ok := d.(*ast.FuncDecl)
		return ok && fn.Recv == nil && fn.Name.Name == "main"
	})
}

// stopwatches are the tests that may read the clock, and what for.
var stopwatches = map[string]string{
	"internal/engine/figures_test.go": "how much longer a command takes than bubblewrap alone",
	"internal/engine/streams_test.go": "that input which nobody reads holds nothing up",
}

// secondClocks reports who reads the clock outside internal/clock. Since and
// Until read it too; timers do not tell the time and are free.
func secondClocks(_ fs.FS, files []*file) []string {
	var breaches []string
	for _, f := range files {
		name, imported := localName(f, "time")
		if !imported || f.dir() == "internal/clock" || stopwatches[f.name] != "" {
			continue
		}
		if name == "." {
			breaches = append(breaches, f.name+": imports time with a dot, which hides who reads the clock")
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Now", "Since", "Until"}, selector.Sel.Name) {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == name {
				line := f.fset.Position(selector.Pos()).Line
				breaches = append(breaches, fmt.Sprintf("%s:%d: time.%s; internal/clock is the one clock", f.name, line, selector.Sel.Name))
			}
			return true
		})
	}
	return breaches
}

// localName is the name under which f knows the package importPath.
func localName(f *file, wanted string) (name string, imported bool) {
	for _, spec := range f.syntax.Imports {
		if importPath(spec) != wanted {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name, true
		}
		return path.Base(wanted), true
	}
	return "", false
}

func missingHeaders(_ fs.FS, files []*file) []string {
	var breaches []string
	for _, f := range files {
		if !strings.HasPrefix(f.source, header) {
			breaches = append(breaches, f.name+": does not begin with the two header lines and an empty one")
		}
	}
	return breaches
}

func namelessPackages(_ fs.FS, files []*file) []string {
	dirs, groups := byDir(files)
	var breaches []string
	for _, dir := range dirs {
		names := strings.Split(dir, "/")
		for _, f := range groups[dir] {
			names = append(names, f.syntax.Name.Name)
		}
		if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(namelessNames, name) }) {
			breaches = append(breaches, dir+": the name does not say what the package is for")
		}
	}
	return breaches
}

func undocumentedPackages(_ fs.FS, files []*file) []string {
	dirs, groups := byDir(files)
	var breaches []string
	for _, dir := range dirs {
		var name string
		var comments []string
		for _, f := range groups[dir] {
			if f.isTest() {
				continue
			}
			name = f.syntax.Name.Name
			if f.syntax.Doc != nil {
				comments = append(comments, f.syntax.Doc.Text())
			}
		}
		switch {
		case len(comments) == 0:
			breaches = append(breaches, dir+": no comment says what the package does")
		case len(comments) > 1:
			breaches = append(breaches, fmt.Sprintf("%s: %d package comments; one file says it", dir, len(comments)))
		case name != "main" && !strings.HasPrefix(comments[0], "Package "+name+" "):
			breaches = append(breaches, fmt.Sprintf("%s: the package comment does not begin with %q", dir, "Package "+name))
		}
	}
	return breaches
}

// hiddenWiring reports what runs or registers itself merely by being imported:
// internal/connect is the only list of vendors, and a reader can follow it. Tests
// are imported by nobody.
func hiddenWiring(_ fs.FS, files []*file) []string {
	var breaches []string
	for _, f := range files {
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" && !f.isTest() {
				breaches = append(breaches, f.name+": func init runs without being called")
			}
		}
		for _, spec := range f.syntax.Imports {
			if _, ours := moduleDir(importPath(spec)); ours && spec.Name != nil && spec.Name.Name == "_" {
				breaches = append(breaches, f.name+": blank import of "+importPath(spec))
			}
		}
	}
	return breaches
}
