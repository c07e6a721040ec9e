// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// knownKeys lists the keys that may stand beside the last one of path.
func knownKeys(root reflect.Type, path []string) []string {
	at := root
	for _, key := range path[:max(0, len(path)-1)] {
		if at = child(at, key); at == nil {
			return nil
		}
	}
	if at == nil || at.Kind() != reflect.Struct {
		return nil
	}
	var keys []string
	for i := range at.NumField() {
		keys = append(keys, keyOf(at.Field(i)))
	}
	return keys
}

func child(t reflect.Type, key string) reflect.Type {
	switch t.Kind() {
	case reflect.Map:
		return t.Elem()
	case reflect.Struct:
		for i := range t.NumField() {
			if keyOf(t.Field(i)) == key {
				return t.Field(i).Type
			}
		}
	}
	return nil
}

func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return key
}

// suggest returns what to say after "unknown key": the nearest known one, or
// all of them.
func suggest(key string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	nearest, least := "", 3 // two slips are a slip, three are another word
	for _, candidate := range known {
		if d := distance(key, candidate); d < least {
			nearest, least = candidate, d
		}
	}
	if nearest != "" {
		return fmt.Sprintf("; did you mean %q?", nearest)
	}
	return "; known here: " + strings.Join(known, ", ")
}

// distance is the Levenshtein distance: how many letters must be put in, taken
// out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := diagonal
			if a[i] != b[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// describe says in a person's words what a value must be.
func describe(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Map, reflect.Struct:
		return "a mapping"
	case reflect.Slice:
		return "a list"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "a number"
	default:
		return "text"
	}
}

// shape says the same of a whole node.
func shape(expected ast.NodeType) string {
	switch expected {
	case ast.MappingType:
		return "mapping"
	case ast.SequenceType:
		return "list"
	default:
		return "plain value"
	}
}
