// Package template fills the program's own templates: Go's template syntax
// without methods.
//
// The standard library's text/template and html/template call methods by name,
// so a program that links them keeps every exported method of every type it
// uses: 7 MB of this one. This package uses their parser and calls no methods:
// a template contains text, fields, variables, strings, if, else, range, define,
// template, eq, le, not, and, or, len, and functions that it is given.
package template

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"text/template/parse"
)

// Markup is text that is written as it is, never escaped.
type Markup string

// Template is a parsed template.
type Template struct {
	root   *parse.ListNode
	named  map[string]*parse.Tree
	funcs  map[string]any
	escape func(string) string
}

// builtins are what every template can call.
var builtins = map[string]any{
	"eq":  func(a, b any) bool { return a == b },
	"le":  func(a, b int) bool { return a <= b },
	"not": func(a any) bool { return !truth(reflect.ValueOf(a)) },
	"and": func(a, b any) bool { return truth(reflect.ValueOf(a)) && truth(reflect.ValueOf(b)) },
	"or":  func(a, b any) bool { return truth(reflect.ValueOf(a)) || truth(reflect.ValueOf(b)) },
	"len": func(a any) int { return reflect.ValueOf(a).Len() },
}

// Must parses a template that is part of the program, and panics if it is
// malformed. Every value except Markup is escaped by escape, if that is not
// nil. Escaping does not depend on the context: in HTML, values may only be
// placed between tags and in quoted attributes, never in URLs, styles or
// scripts.
func Must(name, text string, funcs map[string]any, escape func(string) string) *Template {
	all := maps.Clone(builtins)
	maps.Copy(all, funcs)
	trees, err := parse.Parse(name, text, "", "", all)
	if err != nil {
		panic(err)
	}
	if escape == nil {
		escape = func(s string) string { return s }
	}
	return &Template{root: trees[name].Root, named: trees, funcs: all, escape: escape}
}

// Named returns the template that a define in this one names. It panics if there
// is none.
func (t *Template) Named(name string) *Template {
	out := *t
	out.root = t.named[name].Root
	return &out
}

// Execute writes the template filled with the fields of data.
func (t *Template) Execute(w io.Writer, data any) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case failure:
			err = r.error
		default:
			panic(r)
		}
	}()
	t.fill(w, t.root, reflect.ValueOf(data))
	return nil
}

// fill writes a template, the whole or a named one, filled with data.
func (t *Template) fill(w io.Writer, root *parse.ListNode, data reflect.Value) {
	s := &state{Template: t, w: w, vars: map[string]reflect.Value{"$": data}}
	s.walk(root, data)
}

// failure ends an execution.
type failure struct{ error }

func fail(n parse.Node, format string, args ...any) {
	panic(failure{fmt.Errorf("template: %s: %w", n, fmt.Errorf(format, args...))})
}

// state is one execution.
type state struct {
	*Template
	w    io.Writer
	vars map[string]reflect.Value
}

func (s *state) walk(node parse.Node, dot reflect.Value) {
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			s.walk(child, dot)
		}
	case *parse.TextNode:
		s.write(n, string(n.Text))
	case *parse.ActionNode:
		s.print(n, s.pipe(n.Pipe, dot))
	case *parse.IfNode:
		if truth(s.pipe(n.Pipe, dot)) {
			s.walk(n.List, dot)
		} else if n.ElseList != nil {
			s.walk(n.ElseList, dot)
		}
	case *parse.RangeNode:
		s.each(n, s.pipe(n.Pipe, dot))
	case *parse.TemplateNode:
		tree := s.named[n.Name]
		if tree == nil || n.Pipe == nil {
			fail(n, "there is no such template, or it is given nothing")
		}
		s.fill(s.w, tree.Root, s.pipe(n.Pipe, dot))
	default:
		fail(n, "not supported")
	}
}

// each repeats a range for the items of a slice.
func (s *state) each(n *parse.RangeNode, items reflect.Value) {
	if items.Kind() != reflect.Slice {
		fail(n.Pipe, "%s is not a slice", items.Kind())
	}
	for i := range items.Len() {
		values := []reflect.Value{reflect.ValueOf(i), items.Index(i)}
		for j, v := range n.Pipe.Decl {
			s.vars[v.Ident[0]] = values[len(values)-len(n.Pipe.Decl)+j]
		}
		s.walk(n.List, items.Index(i))
	}
}

func (s *state) print(n parse.Node, v reflect.Value) {
	if v.Type() == reflect.TypeFor[Markup]() {
		s.write(n, v.String())
		return
	}
	s.write(n, s.escape(fmt.Sprint(v.Interface())))
}

func (s *state) write(n parse.Node, text string) {
	if _, err := io.WriteString(s.w, text); err != nil {
		fail(n, "%w", err)
	}
}

// pipe evaluates a command; pipes of several commands are not supported.
func (s *state) pipe(p *parse.PipeNode, dot reflect.Value) reflect.Value {
	if len(p.Cmds) != 1 {
		fail(p, "pipes are not supported")
	}
	args := p.Cmds[0].Args
	name, ok := args[0].(*parse.IdentifierNode)
	if !ok {
		return s.value(args[0], dot)
	}
	f := reflect.ValueOf(s.funcs[name.Ident])
	in := make([]reflect.Value, len(args)-1)
	for i, arg := range args[1:] {
		in[i] = s.value(arg, dot)
	}
	if f.Type().NumIn() != len(in) || f.Type().NumOut() != 1 {
		fail(p, "the function takes %d arguments and gives 1 result", f.Type().NumIn())
	}
	for i, v := range in {
		if want := f.Type().In(i); !v.Type().AssignableTo(want) {
			fail(p, "argument %d is %s, want %s", i+1, v.Type(), want)
		}
	}
	return f.Call(in)[0]
}

// value evaluates an argument.
func (s *state) value(node parse.Node, dot reflect.Value) reflect.Value {
	switch n := node.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return field(n, dot, n.Ident)
	case *parse.VariableNode:
		return field(n, s.vars[n.Ident[0]], n.Ident[1:])
	case *parse.PipeNode:
		return s.pipe(n, dot)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return reflect.ValueOf(int(n.Int64))
	}
	fail(node, "not supported")
	return reflect.Value{}
}

func field(n parse.Node, v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		v = reflect.Indirect(v)
		if v.Kind() != reflect.Struct {
			fail(n, "there is no field %s", name)
		}
		if v = v.FieldByName(name); !v.IsValid() || !v.CanInterface() {
			fail(n, "there is no field %s", name)
		}
	}
	return v
}

// truth reports whether a value is neither zero nor empty.
func truth(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() > 0
	default:
		return !v.IsZero()
	}
}
