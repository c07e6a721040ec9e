// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"
)

type expiryTable struct {
	header
	Now   float64 `json:"now"`
	Cases []struct {
		Name      string          `json:"name"`
		Value     *string         `json:"value"`
		Result    string          `json:"result"`
		Remaining json.RawMessage `json:"remaining_seconds"`
		Told      string          `json:"told_to_model"`
	} `json:"cases"`
}

func TestRemainingIsWhatAnAttachingTaskReads(t *testing.T) {
	table := readTable[expiryTable](t, "expiry.json")
	seconds, fraction := math.Modf(table.Now)
	now := time.Unix(int64(seconds), int64(fraction*1e9))
	for _, row := range table.Cases {
		value := "" // an absent tag is unknown, as is an empty one
		if row.Value != nil {
			value = *row.Value
		}
		got, known := Remaining(value, now)
		want := 0.0
		switch {
		case row.Result == "unknown":
		case string(row.Remaining) == `"inf"`:
			want = math.Inf(1)
		case json.Unmarshal(row.Remaining, &want) != nil || row.Result != "known":
			t.Errorf("%s: a row this test does not understand", row.Name)
		}
		if known != (row.Result == "known") || got != want {
			t.Errorf("%s: Remaining(%q) = %v, %t, want %v, %s", row.Name, value, got, known, want, row.Result)
		}
		if crashes := strings.HasPrefix(row.Told, "crash:"); crashes != math.IsInf(got, 1) {
			t.Errorf("%s: an infinite end is what ends the task, and only that", row.Name)
		}
	}
}

// What Airflow reads and we do not is never taken for expired, only for
// unknown; what we read, Airflow reads as the same moment.
func TestTheJanitorReadsNoExpiryThatAirflowDoesNotWrite(t *testing.T) {
	plausible := map[string]bool{
		"past_exact": true, "future_1800": true, "future_59": true, "future_89": true, "one_day": true,
	}
	table := readTable[expiryTable](t, "expiry.json")
	for _, row := range table.Cases {
		if row.Value == nil {
			continue
		}
		end, err := ParseExpiry(*row.Value)
		if plausible[row.Name] != (err == nil) {
			t.Errorf("%s: ParseExpiry(%q) = %v, %v", row.Name, *row.Value, end, err)
		}
		if err == nil && FormatExpiry(end) != *row.Value {
			t.Errorf("%s: %q is written back as %q", row.Name, *row.Value, FormatExpiry(end))
		}
		delete(plausible, row.Name)
	}
	if len(plausible) > 0 {
		t.Errorf("the table has no rows %v any more", plausible)
	}
}

func TestAnImplausibleExpiryIsAnErrorAndNeverAPast(t *testing.T) {
	for _, stamp := range []string{
		"", "0", "-1", "+1700000000", " 1700000000", "1700000000 ", "1700000000.0", "1e9", "01700000000", "1700000000000", "4102444800",
		"1577836799", "99999999999999999999", "soon", "2026-11-30T00:00:00Z", "nan", "inf", "\uff11700000000", "1_700_000_000", strings.Repeat("9", 10_000),
	} {
		if end, err := ParseExpiry(stamp); err == nil || !end.IsZero() || len(err.Error()) > 500 {
			t.Errorf("ParseExpiry(%q) = %v, %v", stamp, end, err)
		}
	}
	for _, stamp := range []string{"1577836800", "4102444799"} {
		if _, err := ParseExpiry(stamp); err != nil {
			t.Error(err)
		}
	}
}

func TestExpiryIsStampedInWholeSecondsRoundedDown(t *testing.T) {
	end := time.Date(2026, time.November, 30, 18, 0, 0, 999_999_999, time.FixedZone("", 3600))
	if got, want := FormatExpiry(end), strconv.FormatInt(end.Unix(), 10); got != want || strings.Trim(got, "0123456789") != "" {
		t.Errorf("FormatExpiry = %q, want %q", got, want)
	}
	back, err := ParseExpiry(FormatExpiry(end))
	if err != nil || !back.Equal(end.Truncate(time.Second)) || back.Location() != time.UTC {
		t.Errorf("read back as %v, %v", back, err)
	}
}

// FuzzParseExpiry: what we read is what Airflow reads.
func FuzzParseExpiry(f *testing.F) {
	for _, seed := range []string{"1700000000", "4102444799", "1e9", "\u0661\u0667", "nan", "1_0"} {
		f.Add(seed)
	}
	now := earliestExpiry.Add(-time.Hour)
	f.Fuzz(func(t *testing.T, stamp string) {
		left, known := Remaining(stamp, now)
		if left < 0 || math.IsNaN(left) {
			t.Fatalf("Remaining(%q) = %v", stamp, left)
		}
		end, err := ParseExpiry(stamp)
		if err == nil && (!known || left != end.Sub(now).Seconds()) {
			t.Fatalf("ParseExpiry(%q) = %v, Remaining = %v, %t", stamp, end, left, known)
		}
	})
}
