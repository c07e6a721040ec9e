// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/taskowned/terraform-provider-sandbox/internal/emulator/modal"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"emulator": main}) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true})
}

// TestEverySwitchOfTheEmulatorIsAFlag holds the flags to the options of the
// package: a switch of production's unknowns that only Go can turn is none for users.
func TestEverySwitchOfTheEmulatorIsAFlag(t *testing.T) {
	named := map[string]string{
		"Token": "token-id", "Environments": "environment", "FailBuilds": "fail-build",
		"Clock": "", "Log": "", "Watch": "log-calls",
	}
	flags := modalCommand().Flags()
	for option := range reflect.TypeFor[modal.Options]().Fields() {
		name, ok := named[option.Name]
		if !ok {
			name = kebab(option.Name)
		}
		if name != "" && flags.Lookup(name) == nil {
			t.Errorf("Options.%s has no flag --%s", option.Name, name)
		}
	}
}

// kebab writes PollLag as poll-lag, and KeepTaskID as keep-task-id.
func kebab(name string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(name, "$1-$2"))
}
