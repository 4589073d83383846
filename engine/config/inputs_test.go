package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// TestWays gives variables of each type a value by each way: all get the same, which a
// run stores and reads again.
func TestWays(t *testing.T) {
	for _, c := range []struct{ name, typ, hcl, json, text, want string }{
		{"string", "string", `"a b"`, `"a b"`, `a b`, `"a b"`},
		{"string of digits", "string", `"5"`, `"5"`, `5`, `"5"`},
		{"word null", "string", `"null"`, `"null"`, `null`, `"null"`},
		{"quotes", "string", `"\"q\""`, `"\"q\""`, `"q"`, `"\"q\""`},
		{"decomposed", "string", "\"e\u0301\"", "\"e\u0301\"", "e\u0301", "\"\u00e9\""},
		{"number", "number", `5`, `5`, `5`, `5`},
		{"large number", "number", `18446744073709551615`, `18446744073709551615`, `18446744073709551615`, `18446744073709551615`},
		{"bool", "bool", `true`, `true`, `true`, `true`},
		{"list", "list(number)", `["1", 2]`, `["1", 2]`, `["1", 2]`, `[1,2]`},
		{"set", "set(string)", `["b", "a", "b"]`, `["b", "a", "b"]`, `["b", "a", "b"]`, `["a","b"]`},
		{"map", "map(string)", `{ a = 1, b = "$${x}" }`, `{"a": 1, "b": "${x}"}`, `{ a = 1, b = "$${x}" }`, `{"a":"1","b":"${x}"}`},
		{"tuple", "tuple([string, number])", `[1, "2"]`, `[1, "2"]`, `[1, "2"]`, `["1",2]`},
		{"object", "object({ a = number, b = optional(number, 7) })", `{ a = 1 }`, `{"a": 1}`, `{ a = 1 }`, `{"a":1,"b":7}`},
		{"objects", "list(object({ a = optional(object({ b = optional(string, \"x\") }), {}) }))", `[{}, { a = {} }]`, `[{}, {"a": {}}]`, `[{}, { a = {} }]`, `[{"a":{"b":"x"}},{"a":{"b":"x"}}]`},
		{"null object", "object({ a = optional(number, 7) })", `null`, `null`, `null`, `null`},
		{"any list", "any", `["y"]`, `["y"]`, `["y"]`, `["y"]`},
		{"any number", "any", `5`, `5`, `5`, `5`},
		{"any string", "any", `"5"`, `"5"`, `"5"`, `"5"`},
		{"any object", "any", `{ a = 1 }`, `{"a": 1}`, `{ a = 1 }`, `{"a":1}`},
		{"untyped", "", `"[1]"`, `"[1]"`, `[1]`, `"[1]"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			declared := "variable \"v\" {\n"
			if c.typ != "" {
				declared += "type = " + c.typ + "\n"
			}
			hclFile, jsonFile := filepath.Join(dir, "v.hcl"), filepath.Join(dir, "v.json")
			for path, text := range map[string]string{hclFile: "v = " + c.hcl + "\n", jsonFile: `{"v": ` + c.json + "}"} {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			value := func(p *Pipeline, in Inputs) cty.Value {
				values, diags := p.Values(in)
				if diags.HasErrors() {
					t.Error(diags)
				}
				return values["v"]
			}
			p, diags := Parse("p.hcl", []byte(declared+"}\n"), Options{})
			withDefault, more := Parse("p.hcl", []byte(declared+"default = "+c.hcl+"\n}\n"), Options{})
			if diags.HasErrors() || more.HasErrors() {
				t.Fatal(diags, more)
			}
			first := value(withDefault, Inputs{})
			ways := map[string]cty.Value{"default": first}
			for way, in := range map[string]Inputs{
				"-var": {Assignments: []Assignment{{Text: "v=" + c.text}}}, "environment": {Environ: []string{envPrefix + "v=" + c.text}},
				"-var-file": {Assignments: []Assignment{{File: hclFile}}}, "JSON": {Assignments: []Assignment{{File: jsonFile}}},
				"recorded": {Assignments: []Assignment{{Text: "v=" + p.Shown(map[string]cty.Value{"v": first})["v"], Recorded: true}}},
			} {
				ways[way] = value(p, in)
			}
			for way, got := range ways {
				text, err := ctyjson.Marshal(got, got.Type())
				if err != nil || string(text) != c.want || !got.RawEquals(first) {
					t.Errorf("%s: %s (%#v), %v; want %s", way, text, got, err, c.want)
				}
			}
		})
	}
}

// TestWithheld leaves a required sensitive variable of any type unknown.
func TestWithheld(t *testing.T) {
	text := "variable \"v\" {\n type = list(object({ a = string }))\n sensitive = true\n validation {\n condition = length(var.v) > 0\n error_message = \"none\"\n }\n}\n"
	p, diags := Parse("p.hcl", []byte(text), Options{})
	values, more := p.Values(Inputs{Withheld: true})
	if diags.HasErrors() || more.HasErrors() || values["v"].IsKnown() || !values["v"].HasMark(sensitive) {
		t.Errorf("%#v, %v, %v", values["v"], diags, more)
	}
}

// TestLength counts what Terraform's length counts.
func TestLength(t *testing.T) {
	for text, want := range map[string]int64{`{ a = 1, b = "x" }`: 2, `"añb"`: 3, `[1, "a"]`: 2, `{}`: 0, `toset(["a"])`: 1, `tomap({ a = 1 })`: 1} {
		p, diags := Parse("p.hcl", []byte("output \"x\" { value = length("+text+") }\n"), Options{})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		g, diags := p.Expand(nil)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if out, diags := g.OutputValue(p.Outputs[0]); diags.HasErrors() || !out.Value.RawEquals(cty.NumberIntVal(want)) {
			t.Errorf("length(%s) is %#v, %v", text, out.Value, diags)
		}
	}
}

// TestComposed finds a variable whose name is written in two forms.
func TestComposed(t *testing.T) {
	p, diags := Parse("p.hcl", []byte("variable \"re\u0301sume\u0301\" {\n type = string\n}\noutput \"x\" { value = var.r\u00e9sum\u00e9 }\n"), Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	for _, name := range []string{"re\u0301sume\u0301", "r\u00e9sum\u00e9"} {
		if values, diags := p.Values(Inputs{Assignments: []Assignment{{Text: name + "=a"}}}); diags.HasErrors() || values["r\u00e9sum\u00e9"].AsString() != "a" {
			t.Errorf("%+q: %v, %v", name, values, diags)
		}
	}
}

// TestManyInputs makes an argument of the outputs of 20,000 instances, in the ways that
// people write it. The standard conversions compare all pairs of them.
func TestManyInputs(t *testing.T) {
	const n = 20_000
	for _, made := range []string{
		`{ for k, s in step.source.a : "m${k}" => s.tree }`, `tomap({ for k, s in step.source.a : "m${k}" => s.tree })`,
		`length(step.source.a) > 3 ? { for k, s in step.source.a : "m${k}" => s.tree } : {}`, `merge([for k, s in step.source.a : { "m${k}" = s.tree }]...)`,
	} {
		text := fmt.Sprintf("step \"source\" \"a\" {\n for_each = range(%d)\n id = each.key\n}\nstep \"board\" \"b\" { parts = %s }\n", n, made)
		p, diags := Parse("p.hcl", []byte(text), Options{Kinds: testKinds(), Version: "0.1.0"})
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		g, diags := p.Expand(nil)
		if diags.HasErrors() || len(g.Instances[n].Deps) != n {
			t.Errorf("%s: %.300v", made, diags)
		}
	}
}
