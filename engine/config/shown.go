package config

import (
	"maps"
	"slices"

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

// Hidden returns the texts in sensitive values, at any depth, sorted: what must
// not be stored even where a person wrote it, such as on the command line. The
// defaults of sensitive variables are among them, also where another value was
// given.
func (p *Pipeline) Hidden(values map[string]cty.Value) []string {
	all := slices.Collect(maps.Values(values))
	for _, v := range p.Variables {
		if v.Sensitive && v.Default != cty.NilVal {
			all = append(all, v.Default.Mark(sensitive))
		}
	}
	var hidden []string
	for _, v := range all {
		if !v.ContainsMarked() {
			continue
		}
		plain, _ := v.UnmarkDeep()
		_ = cty.Walk(plain, func(_ cty.Path, v cty.Value) (bool, error) {
			if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
				hidden = append(hidden, v.AsString())
			}
			return true, nil
		})
	}
	slices.Sort(hidden)
	return slices.Compact(hidden)
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
