package config

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Shown returns the values of variables as strings that may be stored: a string as
// it is, anything else in JSON, and sensitive values left out. A string that would
// be read as something else, such as "null", is in JSON too.
func (p *Pipeline) Shown(values map[string]cty.Value) map[string]string {
	shown := make(map[string]string, len(values))
	for name, v := range values {
		if v.IsMarked() || v.ContainsMarked() {
			continue
		}
		text := Text(v)
		if v.Type() == cty.String && !v.IsNull() && !p.recorded(p.Variables[name], text).RawEquals(v) {
			quoted, _ := json.Marshal(text) // of a string, which cannot fail
			text = string(quoted)
		}
		shown[name] = text
	}
	return shown
}

// recorded reads what Shown wrote.
func (p *Pipeline) recorded(v *Variable, text string) cty.Value {
	val, err := p.decodeJSON(text)
	if err != nil || v.Type == cty.String && val.Type() != cty.String && !val.IsNull() {
		return cty.StringVal(text)
	}
	return val
}

// Hidden returns the strings in sensitive values, at any depth, sorted: they
// must not be stored even where a person wrote them, such as on the command
// line. The defaults of sensitive variables are included even if another value
// was given.
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

// Text formats a known value without marks: a string as it is, anything else in
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
