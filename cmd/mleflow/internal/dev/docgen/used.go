package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/mleflow/mleflow/competitions"
	"github.com/mleflow/mleflow/plugins/data/transform"
)

// usedVerbs returns the names of the verbs that the prepare block of a definition is
// written with, sorted.
func usedVerbs(def *competitions.Definition) (verbs []string) {
	body, ok := def.Prepare.Body.(*hclsyntax.Body)
	if !ok {
		return nil
	}
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		if x, ok := n.(*hclsyntax.FunctionCallExpr); ok && slices.ContainsFunc(transform.Verbs(), func(v transform.Verb) bool { return v.Name == x.Name }) {
			verbs = append(verbs, x.Name)
		}
		return nil
	})
	return set(verbs)
}

// drawnBy says what is random in the prepare block of a definition: the calls
// of verbs that take a random_state, in the order of the file and each once, as
// the name and the options as they are written. It is empty where the data fix
// the parts.
func drawnBy(def *competitions.Definition) (draws []string) {
	body, ok := def.Prepare.Body.(*hclsyntax.Body)
	if !ok {
		return nil
	}
	random := map[string]bool{}
	for _, v := range transform.Verbs() {
		random[v.Name] = takesOption(v, "random_state")
	}
	type draw struct {
		line int
		text string
	}
	var found []draw
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		if x, ok := n.(*hclsyntax.FunctionCallExpr); ok && random[x.Name] {
			found = append(found, draw{line: x.NameRange.Start.Line, text: x.Name + writtenOptions(def, x)})
		}
		return nil
	})
	slices.SortStableFunc(found, func(a, b draw) int { return a.line - b.line })
	for _, d := range found {
		if !slices.Contains(draws, d.text) {
			draws = append(draws, d.text)
		}
	}
	return draws
}

// takesOption reports whether the last parameter of a verb has the option.
func takesOption(v transform.Verb, option string) bool {
	f := reflect.TypeOf(v.Func)
	if f.NumIn() == 0 || f.In(f.NumIn()-1).Kind() != reflect.Pointer || f.In(f.NumIn()-1).Elem().Kind() != reflect.Struct {
		return false
	}
	options := f.In(f.NumIn() - 1).Elem()
	for field := range options.Fields() {
		if field.Tag.Get("verb") == option {
			return true
		}
	}
	return false
}

// writtenOptions returns the options of a call as they are written, without
// the braces and after a blank, or nothing.
func writtenOptions(def *competitions.Definition, x *hclsyntax.FunctionCallExpr) string {
	if len(x.Args) == 0 {
		return ""
	}
	options, ok := x.Args[len(x.Args)-1].(*hclsyntax.ObjectConsExpr)
	if !ok {
		return ""
	}
	text := string(options.Range().SliceBytes(def.Source()))
	return " " + strings.Join(strings.Fields(strings.Trim(text, "{}")), " ")
}
