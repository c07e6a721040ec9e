// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"testing"
)

// The wanted values are what CPython 3.11 prints.

func TestTextsAreShownAsPythonShowsThem(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `''`,
		"a b":                  `'a b'`,
		"it's":                 `"it's"`,
		`say "x"`:              `'say "x"'`,
		`it's "x"`:             `'it\'s "x"'`,
		"a\\b":                 `'a\\b'`,
		"\t\n\r":               `'\t\n\r'`,
		"\x00\x1b\x7f":         `'\x00\x1b\x7f'`,
		"\u0085\u00a0\u00ad":   `'\x85\xa0\xad'`,
		"é例\u3000\u200b\ufeff": `'é例\u3000\u200b\ufeff'`,
		"😀\U0010ffff":          `'😀\U0010ffff'`,
	} {
		if got := reprString(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
}

func TestFloatsAreReadAndShownAsPythonDoes(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1.0", "-0": "-0.0", "1e15": "1000000000000000.0", "1e16": "1e+16", "1e-4": "0.0001", "1e-5": "1e-05",
		"123456789012345680.0": "1.2345678901234568e+17", "5e-324": "5e-324", "1e400": "inf", "-1e400": "-inf", "+nan": "nan",
		" 1_0.5_0 ": "10.5", "\u0661\u0667": "17.0", "\U0001d7ce\U0001d7d8.5": "0.5", ".5": "0.5", "1.": "1.0", "iNf": "inf", "Infinity": "inf",
	} {
		f, ok := parseFloat(text)
		if got := reprFloat(f); !ok || got != want {
			t.Errorf("%q is read as %s, %t, want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", " ", "_1", "1_", "1__0", "1_.5", "1._5", "1e_5", "0x1", "1e", "e5", ".", "+-1", "nan(1)", "infi", "1 2", "\u00b2", "\x1f1"} {
		if f, ok := parseFloat(text); ok {
			t.Errorf("%q is read as %v", text, f)
		}
	}
}

func TestTruncatedAndMisplacedJSONIsRefused(t *testing.T) {
	for _, document := range []string{
		"", "{", `{"a`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a" 1}`, `{1:2}`, `{"a":1 "b":2}`, "[", "[1", "[1,", "[1 2]", "[,]", `"`, `"\`, `"\u12`,
		`"\ud83d`, `"\ud83d\`, `"\ud83d\n"`, `"\ud83dA"`, "-", "-x", "1e", "1.e5", "tru", "nul", "NaN1", "[}", "{]", "\xff",
	} {
		if value, err := parseJSON(document); err == nil {
			t.Errorf("%q is read as %v", document, value)
		}
	}
}
