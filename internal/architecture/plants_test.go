// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package architecture

import (
	"maps"
	"strings"
)

const (
	picture = "# Architecture\n\n```\n" +
		"main.go            serves → provider\n" +
		"internal/clock/    the one clock → nothing\n" +
		"internal/provider/ registers → clock\n" +
		"internal/vendors/a/  one vendor → nothing\n" +
		"internal/connect/  the list → vendors/*\n" +
		"```\n"
)

// orderly breaks no rule, though it comes close to each.
var orderly = map[string]string{
	"ARCHITECTURE.md": picture,
	"main.go": header + "// Command sandbox serves.\npackage main\n\n" +
		"import \"" + modulePath + "/internal/provider\"\n\n" + "func main() { provider.Serve() }\n",
	"internal/clock/clock.go": header + "// Package clock tells the time.\npackage clock\n\n" +
		"import \"time\"\n\nfunc Now() time.Time { return time.Now() }\n",
	"internal/provider/provider.go": header + "// Package provider registers.\npackage provider\n\n" +
		"import \"" + modulePath + "/internal/clock\"\n\n" +
		"var clk = clock.Now\n\nfunc Serve() { _ = clk() }\n",
	"internal/vendors/a/a.go":      header + "// Package a is one vendor.\npackage a\n",
	"internal/vendors/a/a_test.go": header + "package a_test\n\nfunc init() {}\n",
	"internal/connect/connect.go": header + "// Package connect lists.\npackage connect\n\n" +
		"import _ \"embed\"\n\nimport \"" + modulePath + "/internal/vendors/a\"\n\nvar _ = a.X\n",
	"internal/connect/connect_test.go": header + "package connect\n\n" +
		"import \"" + modulePath + "/internal/clock\"\n\nvar _ = clock.Now\n",
	"internal/connect/testdata/broken.go": "no Go at all",
}

// with returns the orderly tree with some files added or replaced.
func with(files map[string]string) map[string]string {
	tree := maps.Clone(orderly)
	maps.Copy(tree, files)
	return tree
}

// vendorA is the orderly tree with body in the file of vendor a.
func vendorA(body string) map[string]string {
	return with(map[string]string{
		"internal/vendors/a/a.go": header + "// Package a is one vendor.\npackage a\n\n" + body,
	})
}

func importing(dir string) string {
	return "import p \"" + modulePath + "/" + dir + "\"\n\nvar _ = p.X\n"
}

var arrowPlants = []plant{
	{"a package beneath looks up", vendorA(importing("internal/connect")), "a.go: imports internal/connect"},
	{"a sideways import", vendorA(importing("internal/provider")), "a.go: imports internal/provider"},
	{"a file for another platform", with(map[string]string{
		"internal/vendors/a/a_plan9.go": header + "package a\n\n" + importing("internal/clock"),
	}), "a_plan9.go: imports internal/clock"},
	{"a file behind a build tag", with(map[string]string{
		"internal/vendors/a/b.go": header + "//go:build never\n\npackage a\n\n" + importing("internal/clock"),
	}), "b.go: imports internal/clock"},
	{"a test that reaches too far", with(map[string]string{
		"internal/vendors/a/a_test.go": header + "package a_test\n\n" + importing("internal/provider"),
	}), "a_test.go: imports internal/provider"},
	{"a package that is not in the picture", with(map[string]string{
		"internal/extra/extra.go": header + "// Package extra is new.\npackage extra\n",
	}), "internal/extra: ARCHITECTURE.md does not show"},
	{"a picture of what is not there", with(map[string]string{
		"ARCHITECTURE.md": strings.Replace(picture, "main.go ", "internal/gone/  was here → clock\nmain.go ", 1),
	}), "internal/gone: shown in ARCHITECTURE.md"},
}

var mainPlants = []plant{
	{"a main of 51 lines", with(map[string]string{
		"cmd/x/main.go": header + "// Command x works.\npackage main\n\nfunc main() {\n" + strings.Repeat("\tprintln()\n", 43) + "}\n",
	}), "cmd/x/main.go: 51 lines"},
	{"a main that hides in another file", with(map[string]string{
		"cmd/x/other.go": header + "// Command x works.\npackage main\n\nfunc main() {\n" + strings.Repeat("\tprintln()\n", 90) + "}\n",
	}), "cmd/x/other.go: 98 lines"},
}

var clockPlants = []plant{
	{"time.Now", vendorA("import \"time\"\n\nvar _ = time.Now()\n"), "a.go:9: time.Now"},
	{"time.Now as a value", vendorA("import \"time\"\n\nvar now = time.Now\n"), "a.go:9: time.Now"},
	{"time.Since", vendorA("import \"time\"\n\nvar _ = time.Since(time.Time{})\n"), "time.Since"},
	{"time.Until under another name", vendorA("import t \"time\"\n\nvar _ = t.Until(t.Time{})\n"), "time.Until"},
	{"a dot import", vendorA("import . \"time\"\n\nvar _ = Now()\n"), "with a dot"},
	{"a test", with(map[string]string{
		"internal/vendors/a/a_test.go": header + "package a\n\nimport \"time\"\n\nvar _ = time.Now()\n",
	}), "a_test.go:8: time.Now"},
}

var headerPlants = []plant{
	{"no header", with(map[string]string{"internal/vendors/a/b.go": "package a\n"}), "a/b.go: does not begin"},
	{"another licence", with(map[string]string{
		"internal/vendors/a/b.go": strings.Replace(header, "MPL-2.0", "MIT", 1) + "package a\n",
	}), "a/b.go: does not begin"},
	{"a header that runs into the package comment", with(map[string]string{
		"internal/vendors/a/b.go": strings.TrimSuffix(header, "\n") + "package a\n",
	}), "a/b.go: does not begin"},
}

var namePlants = []plant{
	{"a package called util", with(map[string]string{
		"internal/util/x.go": header + "// Package util is vague.\npackage util\n",
	}), "internal/util:"},
	{"a name that only the directory has", with(map[string]string{
		"internal/helpers/text/x.go": header + "// Package text is text.\npackage text\n",
	}), "internal/helpers/text:"},
	{"a name that only the package clause has", with(map[string]string{
		"internal/text/x.go": header + "// Package common is vague.\npackage common\n",
	}), "internal/text:"},
}

var commentPlants = []plant{
	{"no comment", with(map[string]string{"internal/vendors/a/a.go": header + "package a\n"}), "vendors/a: no comment"},
	{"two comments", with(map[string]string{
		"internal/vendors/a/b.go": header + "// Package a is this too.\npackage a\n",
	}), "vendors/a: 2 package comments"},
	{"a comment about something else", with(map[string]string{
		"internal/vendors/a/a.go": header + "// This is a vendor.\npackage a\n",
	}), "vendors/a: the package comment does not begin"},
	{"a comment that only a test has", with(map[string]string{
		"internal/vendors/a/a.go":      header + "package a\n",
		"internal/vendors/a/a_test.go": header + "// Package a is one vendor.\npackage a\n",
	}), "vendors/a: no comment"},
}

var wiringPlants = []plant{
	{"an init function", vendorA("func init() {}\n"), "a.go: func init"},
	{"a blank import of ours", with(map[string]string{
		"internal/connect/more.go": header + "package connect\n\nimport _ \"" + modulePath + "/internal/vendors/a\"\n",
	}), "more.go: blank import"},
}
