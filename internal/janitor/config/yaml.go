// Copyright (c) taskowned contributors
// SPDX-License-Identifier: MPL-2.0

package config

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Problem is one mistake in a configuration file, and where it is.
type Problem struct {
	File         string
	Line, Column int    // from 1; 0: the file as a whole
	Path         string // such as "grace.expired"
	Message      string
}

// Error returns "FILE:LINE:COLUMN: PATH: MESSAGE".
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	if p.Path != "" {
		b.WriteString(": " + p.Path)
	}
	return b.String() + ": " + p.Message
}

// document is a YAML file that knows where its values stand.
type document struct {
	file     string
	body     ast.Node
	problems []Problem
}

func parse(file string, data []byte) (*document, error) {
	d := &document{file: file}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, d.locate(err, nil)
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		if d.body != nil {
			d.problem(doc.Body.GetToken(), "", "a second YAML document; one file is one configuration")
			return nil, d.err()
		}
		d.body = doc.Body
	}
	return d, nil
}

// decode reads the document into target, a pointer to a struct. What the
// document does not mention stays as it is.
func (d *document) decode(target any) error {
	if d.body == nil {
		return nil
	}
	if d.refuseTraps(d.body, nil); len(d.problems) > 0 {
		return d.err()
	}
	if err := yaml.NodeToValue(d.body, target, yaml.Strict()); err != nil {
		return d.locate(err, reflect.TypeOf(target).Elem())
	}
	return nil
}

// refuseTraps notes what the library reads otherwise than a person would: a key
// without a value becomes zero, and a grace of nothing would be a grace of no
// time at all. Anchors, aliases and tags are not needed here and could bring
// the same in by another way.
func (d *document) refuseTraps(node ast.Node, path []string) {
	if list, ok := node.(*ast.SequenceNode); ok {
		for i, value := range list.Values {
			d.refuseTraps(value, append(slices.Clone(path), strconv.Itoa(i)))
		}
	}
	d.refuseRewritten(node, path)
	for key, value := range entries(node) {
		at := append(slices.Clone(path), key.GetToken().Value)
		d.refuseRewritten(key, at)
		switch value.Type() {
		case ast.NullType:
			d.problem(key.GetToken(), strings.Join(at, "."), "has no value; leave the key out instead")
		case ast.AnchorType, ast.AliasType, ast.TagType:
			d.problem(key.GetToken(), strings.Join(at, "."), "anchors, aliases and tags are not read here; write the value itself")
		}
		d.refuseTraps(value, at)
	}
}

// refuseRewritten notes what the library hands over in other words than it is
// written in: the text 1.10 would become 1.1, and a protection one of something
// else. Only limits are numbers.
func (d *document) refuseRewritten(node ast.Node, path []string) {
	scalar, ok := node.(ast.ScalarNode)
	rewritten := []ast.NodeType{ast.IntegerType, ast.FloatType, ast.BoolType}
	if !ok || !slices.Contains(rewritten, node.Type()) || len(path) == 0 || path[0] == "limits" {
		return
	}
	written, read := node.GetToken().Value, fmt.Sprint(scalar.GetValue())
	if read != written {
		d.problem(node.GetToken(), strings.Join(path, "."), fmt.Sprintf("YAML reads this as %s; write that, or in quotes %q", read, written))
	}
}

// locate turns the library's error into a Problem. root is the type that the
// document is decoded into, or nil.
func (d *document) locate(err error, root reflect.Type) error {
	var located yaml.Error
	if !errors.As(err, &located) {
		d.problem(nil, "", err.Error())
		return d.err()
	}
	at := located.GetToken()
	path := d.pathOf(at)
	message := located.GetMessage()
	var unknown *yaml.UnknownFieldError
	var mismatch *yaml.TypeError
	var misshapen *yaml.UnexpectedNodeTypeError
	var syntax *yaml.SyntaxError
	switch {
	case errors.As(err, &unknown):
		message = "unknown key" + suggest(at.Value, knownKeys(root, path))
	case errors.As(err, &mismatch):
		message = "want " + describe(mismatch.DstType)
	case errors.As(err, &misshapen):
		message = "want a " + shape(misshapen.Expected)
	case errors.As(err, &syntax) && strings.HasPrefix(message, "mapping value is not allowed"):
		message += "; a value that ends in a colon, such as local:, needs quotes"
	}
	d.problem(at, strings.Join(path, "."), message)
	return d.err()
}

// refuse notes a mistake in the value at path.
func (d *document) refuse(message string, path ...string) {
	d.problem(find(d.body, path), strings.Join(path, "."), message)
}

func (d *document) problem(at *token.Token, path, message string) {
	p := Problem{File: d.file, Path: path, Message: message}
	if at != nil && at.Position != nil {
		p.Line, p.Column = at.Position.Line, at.Position.Column
	}
	d.problems = append(d.problems, p)
}

// err joins all problems, in the order of the file.
func (d *document) err() error {
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	var all []error
	for _, p := range d.problems {
		all = append(all, p)
	}
	return errors.Join(all...)
}

// pathOf returns the keys that lead to the token, which is a key or a value.
func (d *document) pathOf(at *token.Token) []string {
	if at == nil || at.Position == nil {
		return nil
	}
	var path []string
	var walk func(ast.Node) bool
	walk = func(node ast.Node) bool {
		for key, value := range entries(node) {
			path = append(path, key.GetToken().Value)
			if samePlace(key.GetToken(), at) || samePlace(value.GetToken(), at) || walk(value) {
				return true
			}
			path = path[:len(path)-1]
		}
		if list, ok := node.(*ast.SequenceNode); ok {
			return slices.ContainsFunc(list.Values, func(v ast.Node) bool { return samePlace(v.GetToken(), at) || walk(v) })
		}
		return false
	}
	walk(d.body)
	return path
}

func samePlace(a, b *token.Token) bool {
	return a != nil && a.Position != nil && a.Position.Offset == b.Position.Offset
}

// find returns where the value at path stands, or the nearest thing above it.
func find(node ast.Node, path []string) *token.Token {
	if node == nil {
		return nil
	}
	if len(path) > 0 {
		for key, value := range entries(node) {
			if key.GetToken().Value == path[0] {
				return cmp.Or(find(value, path[1:]), key.GetToken())
			}
		}
	}
	if list, ok := node.(*ast.SequenceNode); ok && len(path) > 0 {
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(list.Values) {
			return find(list.Values[i], path[1:])
		}
	}
	if at := first(node); at != nil {
		return at
	}
	return node.GetToken()
}

// first is where a mapping begins for a reader: its first key.
func first(node ast.Node) *token.Token {
	for key := range entries(node) {
		return key.GetToken()
	}
	return nil
}

func entries(node ast.Node) func(yield func(key, value ast.Node) bool) {
	return func(yield func(key, value ast.Node) bool) {
		m, ok := node.(ast.MapNode)
		if !ok {
			return
		}
		for i := m.MapRange(); i.Next(); {
			if !yield(i.Key(), i.Value()) {
				return
			}
		}
	}
}
