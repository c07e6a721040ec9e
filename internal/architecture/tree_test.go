// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// modulePath is what turns a directory of the tree into an import path.
const modulePath = "github.com/taskowned/terraform-provider-sandbox"

// file is one parsed Go file, whatever its build tags say: a rule that holds
// only for the platform at hand is no rule.
type file struct {
	name   string // slash-separated, from the root of the tree
	source string
	lines  int
	syntax *ast.File
	fset   *token.FileSet
}

func (f *file) dir() string  { return path.Dir(f.name) }
func (f *file) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

// imports lists the directories of this module that f imports.
func (f *file) imports() []string {
	var dirs []string
	for _, spec := range f.syntax.Imports {
		if dir, ours := moduleDir(importPath(spec)); ours {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}

// moduleDir turns an import path into a directory of the tree.
func moduleDir(importPath string) (dir string, ours bool) {
	if importPath == modulePath {
		return ".", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}

// parseTree parses every Go file below the root of tree, nested modules
// included, except what the go command ignores: testdata, vendored code and
// names that begin with a dot or an underscore.
func parseTree(t *testing.T, tree fs.FS) []*file {
	t.Helper()
	var files []*file
	fset := token.NewFileSet()
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && ignored(name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go" || ignored(name):
			return nil
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(fset, name, source, parser.ParseComments)
		if err != nil {
			return err
		}
		files = append(files, &file{
			name: name, source: string(source), lines: strings.Count(string(source), "\n"),
			syntax: syntax, fset: fset,
		})
		return nil
	})
	if err != nil {
		t.Fatalf("parse the tree: %v", err)
	}
	return files
}

func ignored(name string) bool {
	base := path.Base(name)
	if base == "." {
		return false
	}
	return base == "testdata" || base == "vendor" || base[0] == '.' || base[0] == '_'
}

// byDir groups files by directory and returns the directories in order.
func byDir(files []*file) (dirs []string, groups map[string][]*file) {
	groups = make(map[string][]*file)
	for _, f := range files {
		groups[f.dir()] = append(groups[f.dir()], f)
	}
	for dir := range groups {
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs, groups
}
