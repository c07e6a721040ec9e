// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package architecture

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

// rule reports the breaches it finds in a tree, one line each, file first.
type rule struct {
	name   string
	check  func(fs.FS, []*file) []string
	plants []plant // trees that must each be found guilty
}

// plant is a small tree with one breach in it.
type plant struct {
	name string
	tree map[string]string
	want string // part of the report
}

var rules = []rule{
	{"ImportsFollowTheDrawnArrows", undrawnArrows, arrowPlants},
	{"MainsOnlyWire", longMains, mainPlants},
	{"OnlyInternalClockReadsTheClock", secondClocks, clockPlants},
	{"EveryGoFileHasTheHeader", missingHeaders, headerPlants},
	{"PackageNamesSayWhatTheyAreFor", namelessPackages, namePlants},
	{"EveryPackageSaysWhatItDoes", undocumentedPackages, commentPlants},
	{"NothingIsWiredByBeingImported", hiddenWiring, wiringPlants},
}

func TestTreeKeepsItsRules(t *testing.T) {
	tree := os.DirFS("../..")
	files := parseTree(t, tree)
	if len(files) < 10 {
		t.Fatalf("only %d Go files found: the root of the tree is elsewhere", len(files))
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			for _, breach := range r.check(tree, files) {
				t.Error(breach)
			}
		})
	}
}

func TestEachRuleFindsItsPlantedBreach(t *testing.T) {
	for _, r := range rules {
		for _, p := range r.plants {
			t.Run(r.name+"/"+p.name, func(t *testing.T) {
				tree := mapFS(p.tree)
				found := r.check(tree, parseTree(t, tree))
				if len(found) != 1 || !strings.Contains(found[0], p.want) {
					t.Errorf("found %q, want one breach with %q", found, p.want)
				}
			})
		}
		if len(r.plants) == 0 {
			t.Errorf("%s: no planted breach shows that the rule can fail", r.name)
		}
	}
}

func TestRulesPassAnOrderlyTree(t *testing.T) {
	tree := mapFS(orderly)
	files := parseTree(t, tree)
	for _, r := range rules {
		for _, breach := range r.check(tree, files) {
			t.Errorf("%s: %s", r.name, breach)
		}
	}
}

func mapFS(files map[string]string) fs.FS {
	tree := make(fstest.MapFS, len(files))
	for name, source := range files {
		tree[name] = &fstest.MapFile{Data: []byte(source)}
	}
	return tree
}
