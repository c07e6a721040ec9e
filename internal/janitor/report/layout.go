// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package report

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/taskowned/terraform-provider-sandbox/internal/cli"
)

const (
	maxColumns = 100
	gap        = "  "
	minLast    = 12 // columns that the last cell of a row keeps at least
)

// section is a titled list: a row for each thing, and beneath it the details.
type section struct {
	head    []string
	limit   int // 0: none
	rows    [][]string
	details []detail
}

// detail is what stands beneath a row. The command is not wrapped, so that it
// can be copied.
type detail struct{ text, command string }

func (s *section) add(text string, cells ...string) { s.addWithCommand(text, "", cells...) }

func (s *section) addWithCommand(text, command string, cells ...string) {
	s.rows = append(s.rows, cells)
	s.details = append(s.details, detail{text, command})
}

// write writes the section, or nothing when it is empty.
func (s *section) write(t *table) {
	if len(s.rows) == 0 {
		return
	}
	shown := s.rows
	if s.limit > 0 && len(shown) > s.limit {
		shown = shown[:s.limit]
	}
	t.line("")
	for i, line := range align(append([][]string{s.head}, shown...)) {
		t.line(line)
		if i > 0 {
			t.text("  ", s.details[i-1].text)
			if command := s.details[i-1].command; command != "" {
				t.line("  → " + clean(command))
			}
		}
	}
	if hidden := len(s.rows) - len(shown); hidden > 0 {
		t.text("  ", fmt.Sprintf("and %s more; --output json lists them all", thousands(hidden)))
	}
}

// align pads the cells of each column to one width: to the left those that
// begin with ">". The last cell is cut where the line would grow too long; the
// first is an identity and never cut.
func align(rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(strings.TrimPrefix(clean(cell), ">")))
		}
	}
	last := len(widths) - 1
	used := 0
	for _, width := range widths[:last] {
		used += width + len(gap)
	}
	widths[last] = min(widths[last], max(minLast, maxColumns-used))
	lines := make([]string, len(rows))
	for n, row := range rows {
		var cells []string
		for i, cell := range row {
			text, right := strings.CutPrefix(clean(cell), ">")
			if i == last {
				text = cut(text, widths[i])
			}
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
			if right {
				cells = append(cells, padding+text)
			} else {
				cells = append(cells, text+padding)
			}
		}
		lines[n] = strings.Join(cells, gap)
	}
	return lines
}

// clean keeps what others wrote (an owner, a vendor's message) from moving the
// cursor or forging a line.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return '?'
		}
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}

func cut(s string, columns int) string {
	runes := []rune(s)
	if len(runes) <= columns {
		return s
	}
	return string(runes[:columns-1]) + "…"
}

// wrap breaks s at spaces; a word that is longer than a line stands alone.
func wrap(s string, columns int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= columns:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// thousands writes 1204 as 1,204.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count writes how many there are of a thing.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

// since writes how long before now t was, or "-" when t is unknown.
func since(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return cli.Age(now.Sub(t))
}

func hours(h float64) string {
	if h < 10 {
		return strconv.FormatFloat(h, 'f', 1, 64)
	}
	return thousands(int(h + 0.5))
}
