// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package airflow

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxNesting bounds a tag's JSON, in levels. Python gives up at about a
	// thousand, with an error that ends the task.
	maxNesting = 200
	// maxIntegerDigits is where Python refuses to convert.
	maxIntegerDigits = 4300
)

type (
	// integer is a whole number of any size, in decimal; zero has no sign.
	integer string
	// object keeps its keys in the order of their first appearance; the last
	// value of a repeated key wins.
	object struct {
		keys   []string
		values map[string]any
	}
)

// parseJSON reads what Python's json module reads, which encoding/json does
// not: NaN and Infinity, and numbers of any size. A value is nil, bool, string,
// integer, float64, []any or *object.
func parseJSON(s string) (any, error) {
	if !utf8.ValidString(s) {
		return nil, errors.New("not valid UTF-8")
	}
	p := parser{rest: s}
	value, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.rest != "" {
		return nil, p.unexpected()
	}
	return value, nil
}

type parser struct{ rest string }

func (p *parser) space() { p.rest = strings.TrimLeft(p.rest, " \t\n\r") }

func (p *parser) accept(token string) bool {
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

func (p *parser) unexpected() error {
	if p.rest == "" {
		return errors.New("the JSON ends early")
	}
	r, _ := utf8.DecodeRuneInString(p.rest)
	return fmt.Errorf("unexpected %q in the JSON", r)
}

// words are the values that are spelt out.
var words = []struct {
	word  string
	value any
}{
	{"null", nil},
	{"true", true},
	{"false", false},
	{"NaN", math.NaN()},
	{"Infinity", math.Inf(1)},
	{"-Infinity", math.Inf(-1)},
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("nested deeper than %d levels", maxNesting)
	}
	p.space()
	switch {
	case p.accept("{"):
		return p.object(depth)
	case p.accept("["):
		return p.list(depth)
	case p.accept(`"`):
		return p.string()
	}
	for _, w := range words {
		if p.accept(w.word) {
			return w.value, nil
		}
	}
	return p.number()
}

func (p *parser) list(depth int) (any, error) {
	list := []any{}
	if p.space(); p.accept("]") {
		return list, nil
	}
	for {
		element, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, element)
		if p.space(); p.accept("]") {
			return list, nil
		}
		if !p.accept(",") {
			return nil, p.unexpected()
		}
	}
}

func (p *parser) object(depth int) (any, error) {
	o := &object{values: map[string]any{}}
	if p.space(); p.accept("}") {
		return o, nil
	}
	for {
		if p.space(); !p.accept(`"`) {
			return nil, p.unexpected()
		}
		key, err := p.string()
		if err != nil {
			return nil, err
		}
		if p.space(); !p.accept(":") {
			return nil, p.unexpected()
		}
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if _, repeated := o.values[key]; !repeated {
			o.keys = append(o.keys, key)
		}
		o.values[key] = value
		if p.space(); p.accept("}") {
			return o, nil
		}
		if !p.accept(",") {
			return nil, p.unexpected()
		}
	}
}

// string reads up to the closing quote; the opening one is read already.
func (p *parser) string() (string, error) {
	var b strings.Builder
	for {
		if p.rest == "" {
			return "", p.unexpected()
		}
		r, size := utf8.DecodeRuneInString(p.rest)
		switch {
		case r < ' ':
			return "", p.unexpected()
		case r == '"':
			p.rest = p.rest[size:]
			return b.String(), nil
		case r == '\\':
			p.rest = p.rest[size:]
			escaped, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(escaped)
		default:
			p.rest = p.rest[size:]
			b.WriteRune(r)
		}
	}
}

var shortEscapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escape() (rune, error) {
	if p.rest == "" {
		return 0, p.unexpected()
	}
	if r, ok := shortEscapes[p.rest[0]]; ok {
		p.rest = p.rest[1:]
		return r, nil
	}
	unit, err := p.codeUnit()
	if err != nil || !utf16.IsSurrogate(unit) {
		return unit, err
	}
	if p.accept(`\`) {
		low, err := p.codeUnit()
		if r := utf16.DecodeRune(unit, low); err == nil && r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, errors.New("half of a surrogate pair, which is no character")
}

func (p *parser) codeUnit() (rune, error) {
	if len(p.rest) < 5 || p.rest[0] != 'u' {
		return 0, p.unexpected()
	}
	unit, err := strconv.ParseUint(p.rest[1:5], 16, 16)
	if err != nil {
		return 0, fmt.Errorf(`bad escape \%q in the JSON`, p.rest[:5])
	}
	p.rest = p.rest[5:]
	return rune(unit), nil
}

func (p *parser) number() (any, error) {
	whole := p.rest
	p.accept("-")
	if !p.accept("0") && p.digits() == 0 {
		return nil, p.unexpected()
	}
	literal := whole[:len(whole)-len(p.rest)]
	fraction := p.fraction()
	if exponent := p.exponent(); !fraction && !exponent {
		if len(strings.TrimPrefix(literal, "-")) > maxIntegerDigits {
			return nil, fmt.Errorf("a whole number of more than %d digits", maxIntegerDigits)
		}
		if literal == "-0" {
			literal = "0"
		}
		return integer(literal), nil
	}
	// The syntax is checked; what is out of range is infinite, as in Python.
	f, _ := strconv.ParseFloat(whole[:len(whole)-len(p.rest)], 64)
	return f, nil
}

// digits skips digits and returns how many there were.
func (p *parser) digits() int {
	before := len(p.rest)
	p.rest = strings.TrimLeft(p.rest, "0123456789")
	return before - len(p.rest)
}

func (p *parser) fraction() bool {
	before := p.rest
	if p.accept(".") && p.digits() > 0 {
		return true
	}
	p.rest = before
	return false
}

func (p *parser) exponent() bool {
	before := p.rest
	if p.accept("e") || p.accept("E") {
		if !p.accept("+") {
			p.accept("-")
		}
		if p.digits() > 0 {
			return true
		}
	}
	p.rest = before
	return false
}
