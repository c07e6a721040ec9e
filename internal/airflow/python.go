// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// This file is what Python does with text, where the contract depends on it.

// trimSpace is str.strip: unlike strings.TrimSpace it drops 0x1C to 0x1F too.
func trimSpace(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || 0x1C <= r && r <= 0x1F })
}

// digits is one run of digits, with single underscores inside.
const digits = `[0-9]+(?:_[0-9]+)*`

var floatSyntax = regexp.MustCompile(`(?i)^[+-]?(?:` +
	`(?:` + digits + `\.?(?:` + digits + `)?|\.` + digits + `)(?:e[+-]?` + digits + `)?` +
	`|inf|infinity|nan)$`)

// truth is bool(value).
func truth(value any) bool {
	switch v := value.(type) {
	case bool:
		return v
	case string:
		return v != ""
	case integer:
		return v != "0"
	case float64:
		return v != 0
	case []any:
		return len(v) > 0
	case *object:
		return len(v.keys) > 0
	}
	return false
}

// text is str(value).
func text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	return repr(value)
}

func repr(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case string:
		return reprString(v)
	case integer:
		return string(v)
	case float64:
		return reprFloat(v)
	case []any:
		parts := make([]string, len(v))
		for i, element := range v {
			parts[i] = repr(element)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *object:
		parts := make([]string, len(v.keys))
		for i, key := range v.keys {
			parts[i] = reprString(key) + ": " + repr(v.values[key])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return fmt.Sprint(value)
}

// reprString prefers single quotes and escapes what is not printable.
func reprString(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var b strings.Builder
	b.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xFF:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xFFFF:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteRune(quote)
	return b.String()
}

// reprFloat is the shortest text that reads back, with an exponent from 1e16
// up and below 1e-4.
func reprFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if size := math.Abs(f); size != 0 && (size < 1e-4 || size >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// parseFloat is float(s): outer white space, digits of any script and single
// underscores between digits are fine.
func parseFloat(s string) (f float64, ok bool) {
	s = strings.TrimFunc(s, unicode.IsSpace)
	s = strings.Map(asciiDigit, s)
	if !floatSyntax.MatchString(s) {
		return 0, false
	}
	if len(s) > 3 && strings.EqualFold(s[1:], "nan") {
		s = s[1:] // strconv knows no signed NaN
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// asciiDigit maps a decimal digit of any script to its ASCII form; Unicode
// keeps them in runs of ten that begin with zero.
func asciiDigit(r rune) rune {
	for _, run := range unicode.Nd.R16 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return '0' + (r-rune(run.Lo))%10
		}
	}
	for _, run := range unicode.Nd.R32 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return '0' + (r-rune(run.Lo))%10
		}
	}
	return r
}
