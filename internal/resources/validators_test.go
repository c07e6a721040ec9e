// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package resources

import (
	"strings"
	"testing"
)

func TestBadInputIsRefusedWithWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		rule rule
		bad  string
		says string
	}{
		{isConnectionURI, "docker:", "unknown scheme"},
		{isConnectionURI, "local:?colour=blue", `unknown setting "colour"`},
		{isConnectionURI, "local:///a/../b", ""},
		{isConnectionURI, "local:relative", ""},
		{isLifetime, "0s", "not above zero"},
		{isLifetime, "-1h", "not above zero"},
		{isLifetime, "87601h", "longer than"},
		{isLifetime, "3600", "is not a duration"},
		{isLifetime, "1d", "a day is 24h"},
		{isLifetime, "", "is not a duration"},
		{isMoment, "tomorrow", "RFC 3339"},
		{isPositiveDuration, "0s", "not above zero"},
		{isPositiveDuration, "-5m", "not above zero"},
		{isTagKey, "", "empty"},
		{isTagKey, "airflow_owner", "reserved"},
		{isTagKey, "taskowned_attempt", "reserved"},
		{isWorkdir, "data", "absolute"},
		{isAbsoluteDirectory, "state", "abspath"},
		{isAbsoluteDirectory, "./state", "abspath"},
		{isEnvKey, "A=B", "equals sign"},
		{isEnvValue, "a\x00b", "NUL"},
	} {
		t.Run(tc.rule.what+" "+tc.bad, func(t *testing.T) {
			if err := tc.rule.check(tc.bad); err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q: %v", tc.bad, err)
			}
		})
	}
}

func TestGoodInputIsTaken(t *testing.T) {
	for _, tc := range []struct {
		rule rule
		good string
	}{
		{isConnectionURI, "local:"},
		{isConnectionURI, "local:///var/lib/sandboxes?deployment=prod"},
		{isLifetime, "1h30m"},
		{isTagKey, "team"},
		{isTagKey, "taskowned_protect"}, // for people to set
		{isWorkdir, "/data"},
		{isAbsoluteDirectory, "/var/lib/sandboxes"},
		{isEnvKey, "PATH"},
		{isEnvValue, ""},
	} {
		if err := tc.rule.check(tc.good); err != nil {
			t.Errorf("%s %q: %v", tc.rule.what, tc.good, err)
		}
	}
}

func TestImportIDIsLocationAndHandle(t *testing.T) {
	uri, handle, err := splitImportID("local:///a?deployment=x#sb-1")
	if err != nil || uri != "local:///a?deployment=x" || handle != "sb-1" {
		t.Errorf("got %q, %q, %v", uri, handle, err)
	}
	for _, bad := range []string{"", "#", "local:", "local:#", "#sb-1"} {
		if _, _, err := splitImportID(bad); err == nil || !strings.Contains(err.Error(), "LOCATION#HANDLE") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
