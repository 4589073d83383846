package config

import (
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Shown returns values as texts that may be stored: a text as it is, anything
// else in JSON, sensitive ones not at all.
func Shown(values map[string]cty.Value) map[string]string {
	shown := make(map[string]string, len(values))
	for name, v := range values {
		if v.IsMarked() || v.ContainsMarked() {
			continue
		}
		shown[name] = Text(v)
	}
	return shown
}

// Text writes a known value without marks: a text as it is, anything else in
// JSON.
func Text(v cty.Value) string {
	if v.Type() == cty.String && !v.IsNull() {
		return v.AsString()
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return "null"
	}
	return string(text)
}
