package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"github.com/mleflow/mleflow/cache/leaf/secret"
	"github.com/mleflow/mleflow/engine/diag"
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
		if v.ContainsMarked() {
			hidden = append(hidden, texts(v)...)
		}
	}
	slices.Sort(hidden)
	return slices.Compact(hidden)
}

// texts returns the known strings in a value, at any depth.
func texts(v cty.Value) (list []string) {
	plain, _ := v.UnmarkDeep()
	_ = cty.Walk(plain, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			list = append(list, v.AsString())
		}
		return true, nil
	})
	return list
}

// CheckSensitive warns of sensitive variables with values that cannot be masked.
func (p *Pipeline) CheckSensitive(values map[string]cty.Value) (diags diag.List) {
	for _, v := range p.Variables {
		if value, given := values[v.Name]; v.Sensitive && given && slices.ContainsFunc(texts(value), secret.Bare) {
			diags = append(diags, diag.Warning(v.Range, "Sensitive value too weak to be masked",
				"The value of variable %q stays readable wherever the same text is; %s. Plans and records do not show it.", v.Name, secret.WeakText))
		}
	}
	return diags
}

// HideSensitive returns arguments of the command line without the values that they
// give to sensitive variables.
func (p *Pipeline) HideSensitive(args []string) []string {
	shown := slices.Clone(args)
	for i, arg := range shown {
		flag, _ := strings.CutPrefix(strings.TrimLeft(arg, "-"), "var=")
		name, _, assigns := strings.Cut(flag, "=")
		if v := p.Variables[name]; assigns && v != nil && v.Sensitive {
			shown[i] = strings.TrimSuffix(arg, strings.TrimPrefix(flag, name+"=")) + "***"
		}
	}
	return shown
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
