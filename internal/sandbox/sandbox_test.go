// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package sandbox

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestNamesFitTheStrictestVendor(t *testing.T) {
	strictest := regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}[a-z0-9]$`)
	seen := map[string]bool{}
	for range 1000 {
		mark := NewMark()
		name := Name(mark)
		if !strictest.MatchString(name) || !strings.HasSuffix(name, mark) || seen[mark] {
			t.Fatalf("mark %q, name %q, seen before: %t", mark, name, seen[mark])
		}
		seen[mark] = true
	}
}

func TestOnlyADestroysOwnClaimIsTakenForOne(t *testing.T) {
	if claim := NewClaim(); !IsClaim(claim) {
		t.Errorf("%s is not taken for a claim", claim)
	}
	for _, holder := range []string{"", "terraform:", "terraform:prod/analysis", "terraform:analysis", "etl/run/" + NewMark(), NewClaim() + "/agent", " " + NewClaim()} {
		if IsClaim(holder) {
			t.Errorf("%q is taken for a claim", holder)
		}
	}
}

func TestStatesHaveWordsAndAnUnknownOneCountsAsUnknown(t *testing.T) {
	words := map[State]string{
		Unknown: "unknown", Starting: "starting", Running: "running", Idle: "idle",
		Stopping: "stopping", Failed: "failed", Ended: "ended", State(-1): "unknown", State(99): "unknown",
	}
	for state, word := range words {
		if state.String() != word {
			t.Errorf("State(%d) = %q, want %q", state, state, word)
		}
	}
	var zero State
	if zero != Unknown {
		t.Error("the zero State must be Unknown, which counts as alive")
	}
}

func TestTheZeroPolicyDeniesEverything(t *testing.T) {
	for name, row := range map[string]struct {
		policy NetworkPolicy
		denies bool
	}{
		"zero":   {NetworkPolicy{}, true},
		"empty":  {NetworkPolicy{AllowEgressTo: []string{}, AllowEgressToCIDRs: []string{}}, true},
		"open":   {NetworkPolicy{Open: true}, false},
		"names":  {NetworkPolicy{AllowEgressTo: []string{"a.b"}}, false},
		"ranges": {NetworkPolicy{AllowEgressToCIDRs: []string{"192.0.2.1"}}, false},
	} {
		if row.policy.DeniesAll() != row.denies {
			t.Errorf("%s: DeniesAll = %t", name, row.policy.DeniesAll())
		}
	}
}

func TestCloneIsIndependent(t *testing.T) {
	tags := Tags{"team": "research"}
	clone := tags.Clone()
	clone["team"] = "other"
	if tags["team"] != "research" {
		t.Error("a clone shares its map")
	}
	if Tags(nil).Clone() == nil {
		t.Error("a clone must be writable, even of no tags")
	}
}

func TestRefIsWrittenWithoutAnEmptyIncarnation(t *testing.T) {
	for ref, want := range map[Ref]string{
		{Handle: "sb-1"}:                   `{"handle":"sb-1"}`,
		{Handle: "sb-1", Incarnation: "7"}: `{"handle":"sb-1","incarnation":"7"}`,
	} {
		if got, err := json.Marshal(ref); err != nil || string(got) != want {
			t.Errorf("%+v is written %s, %v", ref, got, err)
		}
	}
}

func TestTagsOfAirflowAndOfOursAreReserved(t *testing.T) {
	for _, key := range []string{"airflow_owner", "airflow_future", "airflow_", TagManagedBy, TagTeardownAt, "taskowned_x"} {
		if err := CheckTagKey(key); !ReservedTag(key) || err == nil || !strings.Contains(err.Error(), "reserved") {
			t.Errorf("%s: reserved %t, %v", key, ReservedTag(key), err)
		}
	}
	for _, key := range []string{TagProtect, "team", "airflow", "Airflow_x", "my_airflow_x", "a/b.c:d", "größe"} {
		if err := CheckTagKey(key); ReservedTag(key) || err != nil {
			t.Errorf("%s: reserved %t, %v", key, ReservedTag(key), err)
		}
	}
}

func TestTagsThatNoBackendKeepsAreRefused(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		says string
	}{
		"empty key":    {CheckTagKey(""), "empty"},
		"long key":     {CheckTagKey(strings.Repeat("k", MaxTagKeyLength+1)), "longer than 128"},
		"long value":   {CheckTagValue(strings.Repeat("v", MaxTagValueLength+1)), "longer than 1024"},
		"key bytes":    {CheckTagKey("k\xff"), "UTF-8"},
		"value bytes":  {CheckTagValue("\xff"), "UTF-8"},
		"key control":  {CheckTagKey("k\n"), "control"},
		"value NUL":    {CheckTagValue("a\x00b"), "control"},
		"value escape": {CheckTagValue("\x1b[31m"), "control"},
	} {
		if row.err == nil || !strings.Contains(row.err.Error(), row.says) || len(row.err.Error()) > 300 {
			t.Errorf("%s: %v", name, row.err)
		}
	}
	for _, err := range []error{
		CheckTagKey(strings.Repeat("ü", MaxTagKeyLength)), CheckTagValue(strings.Repeat("ü", MaxTagValueLength)), CheckTagValue(""),
	} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestWhatNoSandboxTakesIsRefused(t *testing.T) {
	for name, row := range map[string]struct {
		err  error
		says string
	}{
		"relative workdir":  {CheckWorkdir("data"), "absolute"},
		"no workdir":        {CheckWorkdir(""), "absolute"},
		"trailing slash":    {CheckWorkdir("/data/"), "trailing slash"},
		"dots":              {CheckWorkdir("/data/../etc"), ".."},
		"NUL in workdir":    {CheckWorkdir("/da\x00ta"), "/da"},
		"empty variable":    {CheckEnvKey(""), "empty"},
		"equals sign":       {CheckEnvKey("A=B"), "equals sign"},
		"NUL in variable":   {CheckEnvKey("A\x00"), "NUL"},
		"NUL in value":      {CheckEnvValue("hush\x00"), "NUL"},
		"value is not text": {CheckEnvValue("hush\xff"), "UTF-8"},
	} {
		if row.err == nil || !strings.Contains(row.err.Error(), row.says) || strings.Contains(row.err.Error(), "hush") {
			t.Errorf("%s: %v", name, row.err)
		}
	}
	for _, err := range []error{CheckWorkdir("/data"), CheckEnvKey("größe.x"), CheckEnvValue("")} {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestMalformedProtectionProtects(t *testing.T) {
	now := time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)
	christmas := time.Date(2026, time.December, 24, 0, 0, 0, 0, time.UTC)
	for value, row := range map[string]struct {
		protected bool
		until     time.Time
	}{
		"":                          {false, time.Time{}},
		"false":                     {false, time.Time{}},
		"2026-12-24T00:00:00Z":      {true, christmas},
		"2026-12-24T01:00:00+01:00": {true, christmas},
		"2026-11-30T12:00:00Z":      {false, now},
		"2026-11-30T12:00:01Z":      {true, now.Add(time.Second)},
		"2025-12-24T00:00:00Z":      {false, christmas.AddDate(-1, 0, 0)},
		"true":                      {true, time.Time{}},
		"False":                     {true, time.Time{}},
		"no":                        {true, time.Time{}},
		"0":                         {true, time.Time{}},
		" ":                         {true, time.Time{}},
		"2026-11-29":                {true, time.Time{}},
		"2025-13-45T00:00:00Z":      {true, time.Time{}},
		"1700000000":                {false, time.Unix(1_700_000_000, 0)},
		"1796083201":                {true, time.Unix(1_796_083_201, 0)},
		"1":                         {true, time.Time{}},
		"1700000000000":             {true, time.Time{}},
		"-1700000000":               {true, time.Time{}},
	} {
		protected, until := Protected(Tags{TagProtect: value}, now)
		if protected != row.protected || !until.Equal(row.until) {
			t.Errorf("%q: %t until %v, want %t until %v", value, protected, until, row.protected, row.until)
		}
	}
	if protected, _ := Protected(nil, now); protected {
		t.Error("no tag protects")
	}
}
