package view

import (
	"reflect"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/mleflow/mleflow/cache/leaf/plain"
	"github.com/mleflow/mleflow/engine/event"
)

// Text drops terminal sequences from a text from outside and replaces control
// characters by blanks, so that it cannot disturb a terminal, hide what was
// written before it or pass for something else. Line breaks and tabs stay.
func Text(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && plain.Control(r) {
			return ' '
		}
		return r
	}, ansi.Strip(strings.ReplaceAll(s, "\r\n", "\n")))
}

// Cut is the beginning of a text of more than n characters, and an ellipsis.
func Cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return text
}

// OneLine is Text on a single line, without surrounding space.
func OneLine(s string) string { return strings.TrimSpace(cell(s)) }

// cell is Text on a single line.
func cell(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s // as most are
	}
	return strings.Map(func(r rune) rune {
		if plain.Control(r) {
			return ' '
		}
		return r
	}, ansi.Strip(s))
}

// severalLines are the fields of events whose line breaks stay.
var severalLines = map[reflect.Type]string{
	reflect.TypeFor[event.StepRetry](): "Error", reflect.TypeFor[event.StepFinished](): "Error", reflect.TypeFor[event.Published](): "Error",
	reflect.TypeFor[event.Warning](): "Message", reflect.TypeFor[event.OutputValue](): "Value",
}

// cleaned returns an event whose strings are safe to show, except those in maps.
func cleaned(e event.Event) event.Event {
	v := reflect.New(reflect.TypeOf(e)).Elem()
	v.Set(reflect.ValueOf(e))
	clean(v)
	return v.Interface().(event.Event)
}

// clean makes the strings of a value safe. It copies what the value refers to.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if text := v.String(); text != "" {
			v.SetString(OneLine(text))
		}
	case reflect.Struct:
		var whole string
		several, ok := severalLines[v.Type()]
		if ok {
			whole = Text(v.FieldByName(several).String())
		}
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				clean(f)
			}
		}
		if ok {
			v.FieldByName(several).SetString(whole)
		}
	case reflect.Slice:
		v.Set(reflect.AppendSlice(reflect.Zero(v.Type()), v))
		for i := range v.Len() {
			clean(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			to := reflect.New(v.Type().Elem())
			to.Elem().Set(v.Elem())
			clean(to.Elem())
			v.Set(to)
		}
	}
}
